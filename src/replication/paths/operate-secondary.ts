import { createExchangeKey } from '../../crypto/exchange.js'
import { invalid, LogicalError, unsupportedPath } from '../../logical/errors.js'
import type { Response } from '../../logical/request.js'
import { createCa } from '../credentials/ca.js'
import { parsePrimaryClusterAddr } from './cluster-address.js'
import type { ReplicationContext } from '../roles/context.js'
import {
  checkBundle,
  decideDisableSecondary,
  decideEnableSecondary,
  decidePromote,
  decideUpdatePrimary,
  parseUpdateForm,
} from '../roles/decide-secondary.js'
import { keepDevRoot, wantsDevRoot } from '../credentials/dev-root.js'
import { GUARDS } from '../model/guard-texts.js'
import { currentEpoch } from '../model/epoch.js'
import { execute } from '../roles/execute.js'
import { type Joined, type JoinFields, redeemToken } from '../roles/join.js'
import { orThrow } from '../roles/role-records.js'
import { whoOfJoiner } from '../roles/presented-identity.js'
import { aheadOf, exchangeKeyKey, setIdOf } from '../model/state.js'
import { withScheme } from '../rpc/addresses.js'
import { WARNINGS, warned } from '../roles/texts.js'
import type { Kind } from '../model/types.js'
import { hasPublicKeyTokens } from '../model/version.js'

/** The API operations with which a cluster joins a set, follows another primary, becomes primary, or leaves the set. */

/**
 * Generates a key pair for an activation token. The private key is stored encrypted until a token for the public key
 * arrives. A new key pair replaces the previous one. Rejects with LogicalError 404 if this version does not support
 * public keys.
 */
export const generatePublicKey = async ({ host }: ReplicationContext, kind: Kind): Promise<Response> => {
  if (!hasPublicKeyTokens(host.identity.reportedVersion)) throw unsupportedPath()
  const { publicKey, privateKey } = createExchangeKey()
  await host.storage.write((tx) => tx.put(exchangeKeyKey(kind), privateKey))
  return { data: { secondary_public_key: publicKey.toString('base64') } }
}

export const enableSecondary = (context: ReplicationContext, kind: Kind, fields: JoinFields): Promise<Response> =>
  context.roles.exclusively(async () => {
    const { roles } = context
    const decide = () => decideEnableSecondary(kind, roles.facts())
    orThrow(decide())
    if (fields.token === '') throw invalid(GUARDS.missingToken)
    const joined = await redeem(context, kind, fields, undefined)
    const extraRecords = keepDevRoot(context.host, kind, joined.package.extra)
    const material = { ...joined.package, extraRecords }
    await execute(context, kind, decide, { joining: joiningOf(joined), material })
    return warned(WARNINGS.joining)
  })

export interface UpdateFields extends Omit<JoinFields, 'token'> {
  /** Undefined if the client did not send the field. An empty token removes the primary. */
  readonly token: string | undefined
  readonly addresses: readonly string[]
}

export const updatePrimary = (context: ReplicationContext, kind: Kind, fields: UpdateFields): Promise<Response> =>
  context.roles.exclusively(async () => {
    const { roles } = context
    const form = parseUpdateForm(fields.token, fields.addresses)
    const decide = () => decideUpdatePrimary(kind, roles.facts(), form)
    orThrow(decide())
    if (form === 'addresses') {
      const address = await moveTo(context, kind, fields.addresses)
      await execute(context, kind, decide, { addresses: [address] })
      return warned(WARNINGS.moved(address))
    }
    if (form === 'blank') {
      await execute(context, kind, decide)
      return warned(WARNINGS.forgot(kind))
    }
    const before = roles.record(kind)
    const joined = await redeem(context, kind, { ...fields, token: fields.token ?? '' }, setIdOf(before))
    await execute(context, kind, decide, { joining: joiningOf(joined) })
    const ahead = aheadOf(before)
    const isAhead = ahead?.epoch === currentEpoch(joined.primary.epochs)?.id
    return warned(WARNINGS.joining, ...(ahead && isAhead ? [WARNINGS.aheadOfPrimary(ahead)] : []))
  })

/**
 * Moves the stream to the first address at which a primary of the set accepts the credentials. Resolves to it. Rejects
 * with LogicalError 400 if there is none, or if this cluster follows no primary.
 */
const moveTo = async (context: ReplicationContext, kind: Kind, addresses: readonly string[]): Promise<string> => {
  const { follower } = context.running[kind]
  if (aheadOf(context.roles.record(kind))) throw invalid(GUARDS.aheadOfPrimary)
  if (!follower) throw invalid(GUARDS.needsCredentials)
  try {
    const { address } = await follower.updateAddresses(addresses)
    return withScheme(address)
  } catch (cause) {
    if (!(cause instanceof LogicalError)) throw cause
    throw new LogicalError('invalid-request', GUARDS.noneAnswered(cause.message), { cause })
  }
}

interface PromoteFields {
  readonly primaryClusterAddr: string
  readonly force: boolean
}

export const promote = (context: ReplicationContext, kind: Kind, fields: PromoteFields): Promise<Response> =>
  context.roles.exclusively(async () => {
    const { host, roles, running } = context
    const { mode } = roles.record(kind)
    if (mode === 'disabled' || mode === 'primary') throw invalid(GUARDS.notSecondary(kind))
    // Must be read before the follower stops, because they are lost then.
    const safety = running[kind].safety()
    const decide = () => decidePromote(kind, roles.facts(), safety, fields.force)
    orThrow(decide())
    const primaryClusterAddr = parsePrimaryClusterAddr(fields.primaryClusterAddr)
    const ca = await createCa(host.random, host.clock.now(), host.certificateKeys)
    await execute(context, kind, decide, { ca, primaryClusterAddr })
    return warned(WARNINGS.promoted(kind))
  })

export const disableSecondary = (context: ReplicationContext, kind: Kind): Promise<Response> =>
  context.roles.exclusively(async () => {
    await execute(context, kind, () => decideDisableSecondary(kind, context.roles.facts()))
    return warned(WARNINGS.disabled(kind))
  })

const redeem = (
  { host, dataPlane, roles }: ReplicationContext,
  kind: Kind,
  fields: JoinFields,
  setId: string | undefined,
): Promise<Joined> =>
  redeemToken(
    {
      host,
      dataPlane,
      checkBundle: (facts) => orThrow(checkBundle(kind, setId, facts)),
      wantsDevRoot: setId === undefined && wantsDevRoot(host, kind),
      who: (bundleSetId) => whoOfJoiner(host, roles, { kind, setId: bundleSetId, isMember: setId !== undefined }),
    },
    kind,
    fields,
  )

const joiningOf = ({ bundle, credentials, primary }: Joined) => ({
  setId: bundle.setId,
  secondaryId: bundle.secondaryId,
  epochs: primary.epochs,
  credentials,
})
