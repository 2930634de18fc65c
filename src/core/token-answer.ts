import type { AuthAnswer } from '../logical/request.js'
import type { TokenEntry } from './token-record.js'

/** A token that was made or renewed, and what is to be said about it. */
export interface IssuedToken {
  readonly auth: AuthAnswer
  readonly warnings: string[]
}

/** `auth` of an answer; `clientToken` is the token as the client knows it, or empty. */
export const answerOf = (entry: TokenEntry, clientToken: string, ttlSeconds: number): AuthAnswer => ({
  clientToken,
  accessor: entry.accessor,
  policies: [...entry.policies],
  tokenPolicies: [...entry.policies],
  identityPolicies: [],
  metadata: entry.meta,
  leaseDurationSeconds: ttlSeconds,
  renewable: entry.isRenewable,
  entityId: entry.entityId,
  tokenType: entry.type,
  orphan: entry.isOrphan,
  numUses: entry.numUses,
})
