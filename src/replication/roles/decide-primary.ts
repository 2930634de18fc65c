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

/** Decides on requests to become a primary, to act as a primary, or to give up this role. Pure. */

export type Check = { readonly ok: true } | Refusal

const PASSED: Check = { ok: true }

export const decideEnablePrimary = (kind: Kind, facts: Facts): Decision => {
  const stage = facts.stages[kind]
  if (isDormant(kind, facts)) return refuse(DR_REFUSAL)
  if (stage === 'primary') return refuse(GUARDS.alreadyPrimary(kind))
  if (isSecondaryStage(stage)) return refuse(GUARDS.promoteInstead(kind))
  return accept(stage, 'enable-primary', [{ do: 'become-primary', kind, set: 'new' }])
}

/** Accepts the request on a primary of this kind. Rejects it on a DR secondary, which hides its performance role. */
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

/** Word characters, with dots and dashes inside. */
const ID_PATTERN = /^\w(?:[\w.-]*\w)?$/

export const isValidId = (id: string): boolean => ID_PATTERN.test(id) && id.length <= LIMITS.secondaryIdBytesMax

export interface TokenRequest {
  readonly id: string
  readonly ttlSeconds: number
  /** `bad`: not a valid key. `tooOld`: the version of this server, which does not support such keys. */
  readonly publicKey: 'none' | 'good' | 'bad' | { readonly tooOld: string }
}

/** Decides on a new token. `taken`: IDs whose bootstrap has succeeded. `count`: registrations with other IDs. */
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
