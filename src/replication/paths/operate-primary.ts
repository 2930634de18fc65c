import { lifeMs } from '../../base/duration.js'
import { invalid } from '../../logical/errors.js'
import type { Response } from '../../logical/request.js'
import { type Bundle, encodeBundle, parsePublicKey, sealBundle } from '../credentials/activation-token.js'
import { createCa, issueClientCertificate } from '../credentials/ca.js'
import { parsePrimaryClusterAddr } from './cluster-address.js'
import type { PathContext, ReplicationContext } from '../roles/context.js'
import {
  decideDemote,
  decideDisablePrimary,
  decideEnablePrimary,
  decideIssueToken,
  decideRevoke,
  type TokenRequest,
} from '../roles/decide-primary.js'
import { execute } from '../roles/execute.js'
import { GUARDS } from '../model/guard-texts.js'
import { filterIdOf } from '../roles/primary-role.js'
import { orThrow } from '../roles/role-records.js'
import { type PrimaryRecord, type Registration, registeredIds } from '../model/state.js'
import { withScheme } from '../rpc/addresses.js'
import { WARNINGS, warned } from '../roles/texts.js'
import type { Kind } from '../model/types.js'
import { hasPublicKeyTokens } from '../model/version.js'

/** The API operations of a primary, and those that start or end this role. */

export const enablePrimary = (context: ReplicationContext, kind: Kind, primaryClusterAddr: string): Promise<Response> =>
  context.roles.exclusively(async () => {
    const { host, roles } = context
    const decide = () => decideEnablePrimary(kind, roles.facts())
    orThrow(decide())
    const address = parsePrimaryClusterAddr(primaryClusterAddr)
    const ca = await createCa(host.random, host.clock.now(), host.certificateKeys)
    await execute(context, kind, decide, { ca, primaryClusterAddr: address })
    return warned(WARNINGS.primaryEnabled(kind))
  })

/**
 * Demotes this primary without data loss: fences writes, sends the rest of the log to the secondaries, then changes the
 * role. If a step before the role change fails, the primary accepts writes again.
 */
export const demote = (context: ReplicationContext, kind: Kind): Promise<Response> =>
  context.roles.exclusively(async () => {
    const { host, roles } = context
    const { stragglers, lastIndex, connected } = await execute(context, kind, () => decideDemote(kind, roles.facts()))
    const warnings = [WARNINGS.demoted(kind)]
    if (stragglers.length > 0) {
      warnings.push(WARNINGS.notCaughtUp(lastIndex, stragglers))
      host.log.warn('secondaries had not applied all entries before the demotion', { kind, stragglers })
    }
    if (connected.length > 0) warnings.push(WARNINGS.stillConnected(connected))
    if (kind === 'dr' && roles.facts().stages.performance === 'primary') warnings.push(WARNINGS.noPerformancePrimary)
    return warned(...warnings)
  })

export const disablePrimary = (context: ReplicationContext, kind: Kind): Promise<Response> =>
  context.roles.exclusively(async () => {
    await execute(context, kind, () => decideDisablePrimary(kind, context.roles.facts()))
    return warned(WARNINGS.disabled(kind))
  })

interface IssueFields {
  readonly id: string
  readonly ttlSeconds: number
  readonly publicKey: string
  /** The path of the request, which the response shows as `creation_path`. */
  readonly path: string
}

export const issueToken = (context: PathContext, kind: Kind, fields: IssueFields): Promise<Response> =>
  context.roles.exclusively(async () => {
    const { host, roles } = context
    const record = roles.record(kind)
    const publicKey = fields.publicKey === '' ? undefined : parsePublicKey(fields.publicKey)
    const registered =
      record.mode === 'primary' ? registeredIds(record, fields.id) : { taken: new Set<string>(), count: 0 }
    const request = {
      id: fields.id,
      ttlSeconds: fields.ttlSeconds,
      publicKey: checkPublicKey(fields.publicKey, publicKey, host.identity.reportedVersion),
    } as const
    orThrow(decideIssueToken(kind, roles.facts(), request, registered))
    if (record.mode !== 'primary') throw invalid(GUARDS.notPrimary(kind))
    const { bundle, registration } = await register(context, kind, record, fields)
    await roles.updatePrimary(kind, (latest) => withRegistration(latest, registration))
    if (publicKey) {
      const token = sealBundle(bundle, publicKey, host.random)
      if (token === undefined) throw invalid(GUARDS.invalidPublicKey)
      return { data: { token } }
    }
    const wrapInfo = await context.services.wrapActivation(encodeBundle(bundle), fields.ttlSeconds, fields.path)
    const warnings = host.identity.apiAddress === '' ? [WARNINGS.noApiAddress] : []
    return { data: null, wrapInfo, ...(warnings.length > 0 && { warnings }) }
  })

const checkPublicKey = (text: string, key: Buffer | undefined, version: string): TokenRequest['publicKey'] => {
  if (text === '') return 'none'
  if (!hasPublicKeyTokens(version)) return { tooOld: version }
  return key ? 'good' : 'bad'
}

const register = async (
  { host }: ReplicationContext,
  kind: Kind,
  record: PrimaryRecord,
  fields: IssueFields,
): Promise<{ bundle: Bundle; registration: Registration }> => {
  const nowMs = host.clock.now()
  const client = await issueClientCertificate(record.ca, host.random, nowMs, host.certificateKeys)
  const bundle: Bundle = {
    kind,
    setId: record.setId,
    secondaryId: fields.id,
    caCertificate: Buffer.from(record.ca.certificate, 'base64'),
    certificate: client.certificate,
    privateKey: client.privateKey,
    primaryClusterAddr: withScheme(record.primaryClusterAddr || host.identity.clusterAddress),
  }
  const registration: Registration = {
    id: fields.id,
    commonName: client.commonName,
    state: 'issued',
    expiresAtMs: nowMs + lifeMs(fields.ttlSeconds),
    clusterId: '',
    incarnation: 0,
    apiAddress: '',
    clusterAddress: '',
    lastSeenMs: 0,
  }
  return { bundle, registration }
}

/** Adds a registration. It replaces the registration of an unused token for the same ID. */
const withRegistration = (record: PrimaryRecord, row: Registration): PrimaryRecord => ({
  ...record,
  registrations: [...record.registrations.filter((other) => other.id !== row.id), row],
})

/**
 * Disconnects a secondary, and deletes its registration and its filter. Resolves to undefined (204), even for an
 * unknown ID.
 */
export const revokeSecondary = (context: ReplicationContext, kind: Kind, id: string): Promise<undefined> =>
  context.roles.exclusively(async () => {
    const { roles, filters, running } = context
    orThrow(decideRevoke(kind, roles.facts(), id))
    const record = roles.record(kind)
    const row = record.mode === 'primary' ? record.registrations.find((candidate) => candidate.id === id) : undefined
    if (record.mode !== 'primary' || !row) return undefined
    const filterId = kind === 'performance' ? filterIdOf(record, id, filters) : undefined
    await roles.updatePrimary(kind, (latest) => ({
      ...latest,
      registrations: latest.registrations.filter((other) => other.id !== id),
    }))
    running[kind].primary?.revoke(id, row.commonName)
    if (filterId !== undefined && filters.find(filterId)) await filters.delete(filterId)
    context.host.log.info('secondary revoked', { kind, secondary: id })
    return undefined
  })
