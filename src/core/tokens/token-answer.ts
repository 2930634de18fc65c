import type { AuthAnswer } from '../../logical/request.js'
import type { TokenEntry } from './token-record.js'

/** A token that was created or renewed, and its warnings. */
export interface IssuedToken {
  readonly auth: AuthAnswer
  readonly warnings: string[]
}

/**
 * Returns the `auth` of a response. `clientToken` is the token as the client knows it, or empty. `identityPolicies` are the
 * additional policies of the token's entity.
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

/** Returns the policies of a token and its entity as one list. If the entity adds none, the token's order is kept. */
export const allPolicies = (own: readonly string[], identityPolicies: readonly string[]): string[] =>
  identityPolicies.length === 0 ? [...own] : [...new Set([...own, ...identityPolicies])].sort()
