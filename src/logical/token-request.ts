import type { AuthAnswer, NamespaceRef, RenewalCaller, TokenOrigin, TokenType, TokenView } from './request.js'

/**
 * A token to create. The caller has authorized the token and decided its policies. The token store decides its TTL.
 * Durations are in whole seconds, with 0 for not set.
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
  /** The storage ID of the parent, which must be valid; empty for an orphan. */
  readonly parent: string
  readonly numUses: number
  readonly ttlSeconds: number
  readonly maxTtlSeconds: number
  /** Stored with the token, like `periodSeconds`. */
  readonly explicitMaxTtlSeconds: number
  readonly periodSeconds: number
  /** The values of the token's role. They are not stored with the token, because each renewal reads the role. */
  readonly rolePeriodSeconds?: number
  readonly roleExplicitMaxTtlSeconds?: number
  readonly role: string
  readonly boundCidrs: readonly string[]
  readonly isRenewable: boolean
  readonly origin: TokenOrigin | undefined
  /** The accessor of the mount that issued the token. The removal of this mount revokes the token. */
  readonly mountAccessor?: string
}

/** A valid token for the token endpoints. Times are in milliseconds since the epoch, durations in whole seconds. */
export interface TokenInfo extends TokenView {
  /** The ID of the token in storage keys, which is not secret. */
  readonly storageId: string
  readonly path: string
  readonly meta: Readonly<Record<string, string>> | null
  /** Remaining uses. 0 means unlimited. The request that consumes the last use sees -1. */
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

/** A renewal of a token. The response contains the token in the form `presented`. */
export interface Renewal {
  readonly incrementSeconds: number
  readonly presented: string
  /** The request of the caller, who may have another token. */
  readonly request: RenewalCaller
}

/** A token that was created or renewed, and its warnings. */
export interface IssuedToken {
  readonly auth: AuthAnswer
  readonly warnings: string[]
}
