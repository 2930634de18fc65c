import type { AuthAnswer, NamespaceRef, TokenOrigin, TokenType, TokenView } from './request.js'

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

/** A live token as shown by the token endpoints. Times in milliseconds since the epoch, durations in whole seconds. */
export interface TokenInfo extends TokenView {
  /** The name under which its keys are stored; not secret. */
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

/** A token that was created or renewed, and its warnings. */
export interface IssuedToken {
  readonly auth: AuthAnswer
  readonly warnings: string[]
}
