import type { NamespaceRef } from '../../logical/request.js'
import { leaseIdOf, type TokenEntry } from './token-record.js'
import type { TokenStore } from './tokens.js'

/** A lease as the API can show it. Times in milliseconds since the epoch. */
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
 * Leases. Nothing here lends anything but tokens, so a lease is a token that ends, seen from the path that created it;
 * there is no second record that could disagree.
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

  /** Names directly below `prefix`: storage ids, and folders with a trailing slash. */
  list(namespace: NamespaceRef, prefix: string): Promise<string[]> {
    const folder = prefix.replace(/\/+$/, '')
    return this.#tokens.listLeases(namespace.id, folder === '' ? '' : `${folder}/`)
  }

  /** Ends the token of the lease; an unknown lease is fine. */
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
