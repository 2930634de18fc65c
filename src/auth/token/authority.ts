import type { AuthAnswer, TokenView } from '../../logical/request.js'
import type { TokenRequest } from '../../logical/token-request.js'

/** A live token as shown by the token endpoints. Times in milliseconds since the epoch, durations in whole seconds. */
export interface TokenInfo extends TokenView {
  readonly storageId: string
  readonly path: string
  readonly meta: Readonly<Record<string, string>> | null
  /** Remaining uses. 0 means unlimited; -1 is visible to the request that takes the last use. */
  readonly numUses: number
  readonly createdAtMs: number
  readonly ttlSeconds: number
  readonly expiresAtMs: number | undefined
  readonly lastRenewalMs: number | undefined
  readonly explicitMaxTtlSeconds: number
  readonly periodSeconds: number
  readonly role: string
  readonly boundCidrs: readonly string[]
  readonly isOrphan: boolean
  readonly isRenewable: boolean
}

interface IssuedToken {
  readonly auth: AuthAnswer
  readonly warnings: string[]
}

/** The part of the token store that the token endpoints need. All its errors are LogicalErrors. */
export interface TokenAuthority {
  /** Returns undefined for an unknown, expired or revoked token. */
  find(presented: string): TokenInfo | undefined
  findByAccessor(accessor: string): TokenInfo | undefined
  listAccessors(namespaceId: string): Promise<string[]>
  create(request: TokenRequest): Promise<IssuedToken>
  /** Renews a token. The response repeats `presented`. */
  renew(token: TokenInfo, options: { incrementSeconds: number; presented: string }): Promise<IssuedToken>
  revokeTree(token: TokenInfo): Promise<void>
  revokeAndOrphan(token: TokenInfo): Promise<void>
  /** Returns the policies from the token's entity and its groups, sorted. */
  identityPoliciesOf(token: TokenView): string[]
  /** Returns whether the token has the sudo capability on a path of its namespace. */
  hasSudo(token: TokenView, path: string): boolean
  hasPolicy(namespaceId: string, name: string): boolean
  /** Returns the entity ID of an alias, and creates the entity if needed. */
  aliasEntityId(mountAccessor: string, name: string, namespaceId: string): Promise<string>
}
