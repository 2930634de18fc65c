import { isJsonObject } from '../../base/json.js'
import { limitSignal } from '../../base/linked-signal.js'
import type { JsonObject } from '../../logical/json.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { string, type Values } from '../../logical/fields.js'
import {
  type Bundle,
  openBundle,
  parseActivationToken,
  parseBundle,
  parseObject,
} from '../credentials/activation-token.js'
import { loadCaPems } from '../credentials/ca-files.js'
import { primaryCredentialsOf } from '../credentials/ca.js'
import { findCommonName } from '../../crypto/certificates.js'
import type { BundleFacts } from './decide-secondary.js'
import { GUARDS } from '../model/guard-texts.js'
import type { ReplicationHost, WrappedCall } from '../host/host.js'
import type { DataPlane } from '../host/services.js'
import { type Credentials, exchangeKeyKey } from '../model/state.js'
import { withScheme } from '../rpc/addresses.js'
import type { BootstrapPackage, Kind, PeerIdentity } from '../model/types.js'

/** The request fields about the primary, for `secondary/enable` and `secondary/update-primary`. */
export const JOIN_FIELDS = {
  token: string('Activation token of the primary.', '', { isSecret: true }),
  primary_api_addr: string('Address of the primary API, instead of the one in the token.'),
  ca_file: string('PEM file with the CA certificates that verify the API of the primary.'),
  ca_path: string('Directory of PEM files with CA certificates.'),
  ca_cert: string('CA certificates in PEM.'),
  client_cert_pem: string('Client certificate for the primary API, in PEM.'),
  client_key_pem: string('Key of the client certificate, in PEM.', '', { isSecret: true }),
} as const

export type JoinFields = Values<typeof JOIN_FIELDS>

export interface Joined {
  readonly bundle: Bundle
  readonly credentials: Credentials
  readonly primary: PeerIdentity
  readonly package: BootstrapPackage
}

type Host = Pick<ReplicationHost, 'identity' | 'settings' | 'storage' | 'clock' | 'fetchWrapped'>

interface JoinDeps {
  readonly host: Host
  readonly dataPlane: Pick<DataPlane, 'bootstrap'>
  /** Throws `LogicalError` if this cluster must not use the bundle. */
  readonly checkBundle: (facts: BundleFacts) => void
  /** If true, requests the root token of a primary in dev mode. */
  readonly wantsDevRoot: boolean
  /** Returns the identity that this cluster presents to the primary of a set. */
  readonly who: (setId: string) => PeerIdentity
}

/**
 * Redeems an activation token: unwraps or decrypts it, connects to the primary's cluster port with its credentials, and
 * fetches the bootstrap package. One timeout applies to all steps. Changes no data of this cluster. Rejects with a 400
 * error that names the failed step.
 */
export const redeemToken = async (deps: JoinDeps, kind: Kind, fields: JoinFields): Promise<Joined> => {
  const { host } = deps
  const timeoutMs = host.settings.times.bootstrapTimeoutMs
  const late = new LogicalError('unavailable', `no response within ${timeoutMs} ms`)
  using limit = limitSignal(host.clock, timeoutMs, undefined, late)
  return await redeem(deps, kind, fields, limit.signal)
}

const redeem = async (deps: JoinDeps, kind: Kind, fields: JoinFields, signal: AbortSignal): Promise<Joined> => {
  const { host } = deps
  const caPems = await loadCaPems(fields)
  const bundle = await openToken(deps, kind, { ...fields, caPems }, signal)
  deps.checkBundle({ kind: bundle.kind, setId: bundle.setId, isOwn: isOwnAddress(host, bundle.primaryClusterAddr) })
  const credentials = credentialsOf(bundle)
  const call = {
    credentials: primaryCredentialsOf(credentials),
    addresses: credentials.primaryAddresses,
    who: deps.who(bundle.setId),
    wantsDevRoot: deps.wantsDevRoot,
    signal,
  }
  const reply = await deps.dataPlane.bootstrap(call).catch((cause: unknown) => {
    throw cause instanceof LogicalError ? new LogicalError('invalid-request', cause.message, { cause }) : cause
  })
  const { primary } = reply
  if (primary.setId !== bundle.setId)
    throw invalid('error fetching secondary bootstrap package: the address belongs to another replication set')
  if (primary.clusterId === host.identity.clusterId) throw invalid(GUARDS.ownSecondary)
  return { bundle, credentials, primary, package: reply.package }
}

const openToken = async (
  { host, checkBundle }: Pick<JoinDeps, 'host' | 'checkBundle'>,
  kind: Kind,
  fields: JoinFields & { readonly caPems: readonly string[] },
  signal: AbortSignal,
): Promise<Bundle> => {
  const token = parseActivationToken(fields.token)
  if (!token) throw invalid(GUARDS.invalidToken)
  if (token.form === 'wrapped') {
    const address = (fields.primary_api_addr || token.address).replace(/\/+$/, '')
    if (address === '') throw invalid('the token has no address of the primary; set primary_api_addr')
    const own = host.identity.apiAddress.replace(/\/+$/, '')
    if (own !== '' && address === own) throw invalid(GUARDS.ownSecondary)
    const { caPems, client_cert_pem: clientCertPem, client_key_pem: clientKeyPem } = fields
    const call = { address: withApiScheme(address), token: token.jwt, caPems, clientCertPem, clientKeyPem, signal }
    const ask = (step: WrappedCall['step']) => fetchAnswer(() => host.fetchWrapped({ ...call, step }))
    refuseOther(await ask('lookup'), (found) => {
      if (found !== kind) checkBundle({ kind: found, setId: '', isOwn: false })
    })
    return bundleOf(await ask('unwrap'))
  }
  // The kind is checked before the key, because each kind has its own key.
  if (typeof token.fields.mode === 'number' && typeof token.fields.cluster_id === 'string') {
    const tokenKind = token.fields.mode === 512 ? 'dr' : 'performance'
    if (tokenKind !== kind) checkBundle({ kind: tokenKind, setId: token.fields.cluster_id, isOwn: false })
  }
  const privateKey = host.storage.get(exchangeKeyKey(kind))
  const bundle = privateKey && openBundle(token.fields, privateKey)
  if (!bundle) throw invalid(NOT_FOR_US)
  return bundle
}

const NOT_FOR_US =
  'error decrypting activation token: it was not created for the current public key of this cluster, or it was already used'

const UNWRAPPING = 'error unwrapping activation token'

interface Answer {
  readonly status: number
  readonly body: JsonObject
}

/** Calls the primary's API. Converts a failure to a 400 error that names the step. */
const fetchAnswer = async (call: () => Promise<{ status: number; body: string }>): Promise<Answer> => {
  try {
    const { status, body } = await call()
    return { status, body: parseObject(body) ?? {} }
  } catch (cause) {
    throw new LogicalError('invalid-request', `${UNWRAPPING}: ${causeText(cause)}`, { cause })
  }
}

const TOKEN_PATH = /^sys\/replication\/(?:(dr|performance)\/)?primary\/secondary-token$/

/**
 * Throws if the token is not an activation token of this kind. Uses the response of a lookup, which does not consume
 * the token. If the lookup failed, returns without an error, because the unwrap will report the error.
 */
const refuseOther = ({ status, body }: Answer, check: (kind: Kind) => void): void => {
  const path = status === 200 && isJsonObject(body.data) ? body.data.creation_path : undefined
  if (typeof path !== 'string') return
  const match = TOKEN_PATH.exec(path)
  if (!match) throw invalid(GUARDS.noActivationToken(path))
  check(match[1] === 'dr' ? 'dr' : 'performance')
}

const bundleOf = ({ status, body }: Answer): Bundle => {
  if (status !== 200) {
    const texts = Array.isArray(body.errors) ? body.errors.filter((text) => typeof text === 'string') : []
    throw invalid(`${UNWRAPPING}: the primary responded with status ${status}: ${texts.join('; ') || 'no details'}`)
  }
  const bundle = isJsonObject(body.data) ? parseBundle(body.data) : undefined
  if (!bundle) throw invalid(`${UNWRAPPING}: the response contains no activation bundle`)
  return bundle
}

const causeText = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${causeText(error.cause)}` : error.message
}

const credentialsOf = (bundle: Bundle): Credentials => {
  const serverName = findCommonName(bundle.caCertificate)
  if (serverName === undefined) throw invalid('the activation bundle contains no CA certificate')
  return {
    caCertificate: bundle.caCertificate.toString('base64'),
    certificate: bundle.certificate.toString('base64'),
    privateKey: bundle.privateKey.toString('base64'),
    serverName,
    primaryAddresses: bundle.primaryClusterAddr === '' ? [] : [withScheme(bundle.primaryClusterAddr)],
  }
}

const withApiScheme = (address: string): string => (/^[a-z]+:\/\//i.test(address) ? address : `https://${address}`)

const isOwnAddress = (host: Host, address: string): boolean =>
  address !== '' && host.identity.clusterAddresses.map(withScheme).includes(withScheme(address))
