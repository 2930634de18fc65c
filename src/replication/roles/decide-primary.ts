import { isGenericName } from '../../base/id.js'
import { LIMITS } from '../../base/limits.js'
import { DR_REFUSAL } from '../../logical/errors.js'
import { GUARDS } from '../model/guard-texts.js'
import {
  accept,
  type Decision,
  type Facts,
  isDormant,
  isSecondaryStage,
  type Refusal,
  refuse,
} from '../model/machine.js'
import type { Kind } from '../model/types.js'

/**
 * Decides whether requests to become a primary, to act as a primary, or to give up this role are accepted. Pure
 * functions.
 */

export type Check = { readonly ok: true } | Refusal

const PASSED: Check = { ok: true }

export const decideEnablePrimary = (kind: Kind, facts: Facts): Decision => {
  const stage = facts.stages[kind]
  if (isDormant(kind, facts)) return refuse(DR_REFUSAL)
  if (stage === 'primary') return refuse(GUARDS.alreadyPrimary(kind))
  if (isSecondaryStage(stage)) return refuse(GUARDS.promoteInstead(kind))
  return accept(stage, 'enable-primary', [{ do: 'become-primary', kind, set: 'new' }])
}

/**
 * Accepts a request on a primary of this kind. Refuses it on other clusters, and on a DR secondary with a hidden
 * performance role.
 */
export const checkIsPrimary = (kind: Kind, facts: Facts): Check => {
  if (isDormant(kind, facts)) return refuse(DR_REFUSAL)
  return facts.stages[kind] === 'primary' ? PASSED : refuse(GUARDS.notPrimary(kind))
}

export const decideDemote = (kind: Kind, facts: Facts): Decision => {
  const check = checkIsPrimary(kind, facts)
  if (!check.ok) return check
  return accept('primary', 'demote', [{ do: 'become-detached', kind }], {
    prepare: [
      { do: 'fence-writes', kind },
      { do: 'drain', kind },
    ],
  })
}

export const decideDisablePrimary = (kind: Kind, facts: Facts): Decision => {
  const check = checkIsPrimary(kind, facts)
  return check.ok ? accept('primary', 'disable-primary', [{ do: 'become-disabled', kind }]) : check
}

export const isValidId = (id: string): boolean => isGenericName(id) && id.length <= LIMITS.secondaryIdBytesMax

export interface TokenRequest {
  readonly id: string
  readonly ttlSeconds: number
  /**
   * The kind of public key in the request. `bad` is not a valid key. `tooOld` is the version of this server if it does
   * not support public keys.
   */
  readonly publicKey: 'none' | 'good' | 'bad' | { readonly tooOld: string }
}

/** Decides whether a token may be issued. `taken` has the IDs in use. `count` is the number of other registrations. */
export const decideIssueToken = (
  kind: Kind,
  facts: Facts,
  request: TokenRequest,
  registered: { readonly taken: ReadonlySet<string>; readonly count: number },
): Check => {
  if (request.id === '') return refuse(GUARDS.missingId)
  const check = checkIsPrimary(kind, facts)
  if (!check.ok) return check
  if (!isValidId(request.id)) return refuse(GUARDS.invalidId)
  if (request.ttlSeconds <= 0 || request.ttlSeconds > LIMITS.activationTtlSecondsMax) return refuse(GUARDS.invalidTtl)
  if (typeof request.publicKey === 'object') return refuse(GUARDS.publicKeyVersion(request.publicKey.tooOld))
  if (request.publicKey === 'bad') return refuse(GUARDS.invalidPublicKey)
  if (registered.taken.has(request.id)) return refuse(GUARDS.idInUse(request.id))
  if (registered.count >= LIMITS.secondariesMax) return refuse(GUARDS.tooManySecondaries(LIMITS.secondariesMax))
  return PASSED
}

export const decideRevoke = (kind: Kind, facts: Facts, id: string): Check =>
  id === '' ? refuse(GUARDS.missingId) : checkIsPrimary(kind, facts)
