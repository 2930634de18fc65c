import type { TokenView } from '../../logical/request.js'
import type { IssuedToken, Renewal, TokenInfo, TokenRequest } from '../../logical/token-request.js'

/** The operations of the token store that the endpoints of auth/token use. All errors are LogicalErrors. */
export interface TokenAuthority {
  /** Finds a token. Returns undefined for an unknown, expired or revoked token. */
  find(presented: string): TokenInfo | undefined
  findByAccessor(accessor: string): TokenInfo | undefined
  listAccessors(namespaceId: string): Promise<string[]>
  create(request: TokenRequest): Promise<IssuedToken>
  renew(token: TokenInfo, options: Renewal): Promise<IssuedToken>
  revokeTree(token: TokenInfo): Promise<void>
  revokeAndOrphan(token: TokenInfo): Promise<void>
  /** Returns the policies that the token's entity adds, sorted. */
  identityPoliciesOf(token: TokenView): string[]
  /** Returns whether the token has the sudo capability on a path of its namespace. */
  hasSudo(token: TokenView, path: string): boolean
  hasPolicy(namespaceId: string, name: string): boolean
  /** Returns the entity ID of an alias, and creates the entity if needed. */
  aliasEntityId(mountAccessor: string, name: string, namespaceId: string): Promise<string>
}
