import type { AuthAnswer, LoginAuth, NamespaceRef, TokenType, TokenView } from '../../logical/request.js'

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

/** A token to be made: the endpoint has judged it, the authority decides how long it lives. Seconds, 0 = not set. */
export interface TokenRequest {
  readonly namespace: NamespaceRef
  readonly path: string
  readonly type: TokenType
  readonly id?: string
  readonly policies: readonly string[]
  readonly displayName: string
  readonly meta: Readonly<Record<string, string>> | null
  readonly entityId: string
  /** Storage id of the parent; empty for an orphan. */
  readonly parent: string
  readonly numUses: number
  readonly ttlSeconds: number
  readonly maxTtlSeconds: number
  readonly explicitMaxTtlSeconds: number
  readonly periodSeconds: number
  /** Period of the token's role, which is looked up again at every renewal: a change of the role reaches its tokens. */
  readonly rolePeriodSeconds?: number
  readonly roleExplicitMaxTtlSeconds?: number
  readonly role: string
  readonly boundCidrs: readonly string[]
  readonly isRenewable: boolean
  readonly login: LoginAuth | undefined
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
