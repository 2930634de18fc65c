import type { AuthAnswer, TokenView } from '../../logical/request.js'
import type { TokenRequest } from '../../logical/token-request.js'

/** A live token as its endpoints show it. Times in milliseconds since the epoch, spans in whole seconds. */
export interface TokenInfo extends TokenView {
  readonly storageId: string
  readonly path: string
  readonly meta: Readonly<Record<string, string>> | null
  /** Uses left; 0 is no limit, -1 is seen by the request that takes the last. */
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

/** The token store as these endpoints need it. All its errors are LogicalErrors. */
export interface TokenAuthority {
  /** Undefined for a token that is unknown, ended or revoked. */
  find(presented: string): TokenInfo | undefined
  findByAccessor(accessor: string): TokenInfo | undefined
  listAccessors(namespaceId: string): Promise<string[]>
  create(request: TokenRequest): Promise<IssuedToken>
  /** `presented` is repeated in the answer. */
  renew(token: TokenInfo, options: { incrementSeconds: number; presented: string }): Promise<IssuedToken>
  revokeTree(token: TokenInfo): Promise<void>
  revokeAndOrphan(token: TokenInfo): Promise<void>
  /** Policies that come from the entity behind the token and its groups, sorted. */
  identityPoliciesOf(token: TokenView): string[]
  /** Whether the token has the sudo capability on a path of its own namespace. */
  hasSudo(token: TokenView, path: string): boolean
  hasPolicy(namespaceId: string, name: string): boolean
  /** The entity of an alias, made if need be. */
  aliasEntityId(mountAccessor: string, name: string, namespaceId: string): Promise<string>
}
