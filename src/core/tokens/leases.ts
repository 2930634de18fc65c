import type { NamespaceRef } from '../../logical/request.js'
import { leaseIdOf, type TokenEntry } from './token-record.js'
import type { TokenStore } from './tokens.js'

/** A lease in API form. Times in milliseconds since the epoch. */
interface LeaseView {
  /** `<path that created it>/<storage id of the token>`. */
  readonly id: string
  readonly path: string
  readonly issuedMs: number
  readonly expiresAtMs: number
  readonly lastRenewalMs: number | undefined
  readonly isRenewable: boolean
}

/**
 * Leases. Only tokens have leases here, so a lease is a token with a TTL, found by its creation path. There is no second
 * record that could be inconsistent.
 */
export class LeaseStore {
  readonly #tokens: TokenStore

  constructor(tokens: TokenStore) {
    this.#tokens = tokens
  }

  find(namespace: NamespaceRef, leaseId: string): LeaseView | undefined {
    const token = this.#findToken(namespace, leaseId)
    if (token?.expiresAtMs === undefined) return undefined
    return {
      id: leaseId,
      path: leaseId.slice(0, leaseId.lastIndexOf('/')),
      issuedMs: token.createdAtMs,
      expiresAtMs: token.expiresAtMs,
      lastRenewalMs: token.lastRenewalMs,
      isRenewable: token.isRenewable,
    }
  }

  /** Returns the names directly below `prefix`: storage IDs, and folders with a trailing slash. */
  list(namespace: NamespaceRef, prefix: string): Promise<string[]> {
    const folder = prefix.replace(/\/+$/, '')
    return this.#tokens.listLeases(namespace.id, folder === '' ? '' : `${folder}/`)
  }

  /** Revokes the token of the lease. Does nothing if the lease is unknown. */
  async revoke(namespace: NamespaceRef, leaseId: string): Promise<void> {
    const token = this.#findToken(namespace, leaseId)
    if (token) await this.#tokens.revokeTree(token)
  }

  revokePrefix(namespace: NamespaceRef, prefix: string): Promise<void> {
    return this.#tokens.revokeByPathPrefix(namespace.id, prefix)
  }

  #findToken(namespace: NamespaceRef, leaseId: string): TokenEntry | undefined {
    const token = this.#tokens.findStored(leaseId.slice(leaseId.lastIndexOf('/') + 1))
    const isSame = token?.namespace.id === namespace.id && leaseIdOf(token, token.storageId) === leaseId
    return isSame ? token : undefined
  }
}
