import type { TokenOrigin, NamespaceRef, TokenType } from './request.js'

/**
 * A token to be created. The caller has authorized it; the token store decides its TTL. Durations in whole seconds, 0 = not
 * set. Policies are final.
 */
export interface TokenRequest {
  readonly namespace: NamespaceRef
  readonly path: string
  readonly type: TokenType
  /** A custom ID, without the namespace suffix. */
  readonly id?: string
  readonly policies: readonly string[]
  readonly displayName: string
  readonly meta: Readonly<Record<string, string>> | null
  readonly entityId: string
  /** The storage ID of a live parent; empty for an orphan. */
  readonly parent: string
  readonly numUses: number
  readonly ttlSeconds: number
  readonly maxTtlSeconds: number
  /** Stored with the token. */
  readonly explicitMaxTtlSeconds: number
  readonly periodSeconds: number
  /** From the token's role, which is looked up at every renewal, so it is not stored with the token. */
  readonly rolePeriodSeconds?: number
  readonly roleExplicitMaxTtlSeconds?: number
  readonly role: string
  readonly boundCidrs: readonly string[]
  readonly isRenewable: boolean
  readonly origin: TokenOrigin | undefined
  /** The accessor of the login's mount: the token is revoked with the mount. */
  readonly mountAccessor?: string
}
