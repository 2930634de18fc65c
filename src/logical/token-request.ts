import type { TokenOrigin, NamespaceRef, TokenType } from './request.js'

/**
 * A token to be made: whoever asks for it has judged it, the token store decides how long it lives. Spans in whole seconds,
 * 0 = not set. Policies are final.
 */
export interface TokenRequest {
  readonly namespace: NamespaceRef
  readonly path: string
  readonly type: TokenType
  /** A chosen id, without the namespace's ending. */
  readonly id?: string
  readonly policies: readonly string[]
  readonly displayName: string
  readonly meta: Readonly<Record<string, string>> | null
  readonly entityId: string
  /** The storage id of a live parent; empty for an orphan. */
  readonly parent: string
  readonly numUses: number
  readonly ttlSeconds: number
  readonly maxTtlSeconds: number
  /** Kept with the token. */
  readonly explicitMaxTtlSeconds: number
  readonly periodSeconds: number
  /** Of the token's role, which is looked up again at every renewal: they hold as long as it says so, and are not kept. */
  readonly rolePeriodSeconds?: number
  readonly roleExplicitMaxTtlSeconds?: number
  readonly role: string
  readonly boundCidrs: readonly string[]
  readonly isRenewable: boolean
  readonly origin: TokenOrigin | undefined
  /** The accessor of the mount of a login: the token ends with the mount. */
  readonly mountAccessor?: string
}
