import type { AuthAnswer } from '../../logical/request.js'
import type { TokenEntry } from './token-record.js'

/** A token that was made or renewed, and what is to be said about it. */
export interface IssuedToken {
  readonly auth: AuthAnswer
  readonly warnings: string[]
}

/**
 * `auth` of an answer; `clientToken` is the token as the client knows it, or empty, and `identityPolicies` are what the
 * entity behind the token adds to its own.
 */
export const answerOf = (
  entry: TokenEntry,
  clientToken: string,
  ttlSeconds: number,
  identityPolicies: readonly string[],
): AuthAnswer => ({
  clientToken,
  accessor: entry.accessor,
  policies: allPolicies(entry.policies, identityPolicies),
  tokenPolicies: [...entry.policies],
  identityPolicies: [...identityPolicies],
  metadata: entry.meta,
  leaseDurationSeconds: ttlSeconds,
  renewable: entry.isRenewable,
  entityId: entry.entityId,
  tokenType: entry.type,
  orphan: entry.isOrphan,
  numUses: entry.numUses,
})

/** The policies of a token and of its entity as one list; in the order of the token's own where the entity adds none. */
export const allPolicies = (own: readonly string[], identityPolicies: readonly string[]): string[] =>
  identityPolicies.length === 0 ? [...own] : [...new Set([...own, ...identityPolicies])].sort()
