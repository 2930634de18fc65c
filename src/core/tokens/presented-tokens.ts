import type { NamespaceRef } from '../../logical/request.js'
import { type BatchToken, isBatch, openBatch, sealBatch } from './token-batch.js'
import { RecentCache } from '../../base/recent-cache.js'
import { remembered } from '../../base/remembered.js'
import { parsePresented, positionIn, presentLong } from './token-format.js'
import { isRootPolicy, type StoredToken, type TokenEntry } from './token-record.js'
import type { TokenTable, TokenTableOptions } from './token-table.js'

export interface TokenFormsOptions extends Pick<TokenTableOptions, 'random' | 'findNamespace'> {
  /** Derives a key for one purpose. The key is the same on all clusters with the same keyring, and never changes. */
  readonly deriveKey: (purpose: string) => Buffer
  /** Returns the last index of this cluster's log. Tokens in long form contain the index at which they were issued. */
  readonly position?: () => number
}

/** The size of one cache generation. The cache holds at most two generations. */
const CACHED_FORMS = 20_000

/** Translates between tokens as clients present them and tokens as stored. A cached token costs one map lookup. */
export class PresentedTokens {
  readonly #options: TokenFormsOptions
  readonly #table: TokenTable
  /** By presented token: the storage ID of a service token, or the decrypted batch token. */
  readonly #known = new RecentCache<string | TokenEntry>(CACHED_FORMS)
  readonly #keys = new Map<string, Buffer>()

  constructor(options: TokenFormsOptions, table: TokenTable) {
    this.#options = options
    this.#table = table
  }

  present(entry: Pick<TokenEntry, 'id' | 'isRoot' | 'type'>): string {
    if (entry.isRoot || entry.type === 'batch') return entry.id
    return presentLong(this.#key('token-form'), entry.id, this.#options.position?.() ?? 0)
  }

  /**
   * Returns the storage ID of a service token, or a decrypted batch token. Does not check whether the token is still
   * valid. Returns undefined if the token does not belong to this cluster.
   */
  resolve(presented: string): string | TokenEntry | undefined {
    const known = this.#known.get(presented)
    if (known !== undefined) return known
    const form = isBatch(presented) ? this.#openBatch(presented) : this.#storageIdOf(presented)
    // Invalid tokens are not cached, so that guesses cannot evict valid ones.
    if (form !== undefined) this.#known.set(presented, form)
    return form
  }

  /**
   * Returns the log index at which an unknown token was issued. A node that has applied this index has the token if the
   * token exists. Returns 0 for all other tokens.
   */
  awaitedIndex(presented: string): number {
    if (isBatch(presented) || this.resolve(presented) !== undefined) return 0
    const isGenuine = parsePresented(() => this.#key('token-form'), presented) !== undefined
    return isGenuine ? positionIn(presented) : 0
  }

  makeBatch(token: StoredToken, namespace: NamespaceRef): TokenEntry {
    return batchEntry(token, namespace, sealBatch(this.#key('batch-token'), this.#options.random, token))
  }

  /** Clears the cache after a change that makes all its storage IDs invalid. */
  clear(): void {
    this.#known.clear()
  }

  #storageIdOf(presented: string): string | undefined {
    const id = parsePresented(() => this.#key('token-form'), presented)
    return id === undefined ? undefined : this.#table.findById(id)?.storageId
  }

  #openBatch(presented: string): TokenEntry | undefined {
    const token = openBatch(this.#key('batch-token'), presented)
    const namespace = token && this.#options.findNamespace(token.namespaceId)
    return namespace && batchEntry(token, namespace, presented)
  }

  #key(purpose: string): Buffer {
    return remembered(this.#keys, purpose, () => this.#options.deriveKey(purpose))
  }
}

/**
 * Builds the entry field by field, because copying an object of this size with spread syntax takes longer than the
 * decryption.
 */
const batchEntry = (token: BatchToken, namespace: NamespaceRef, id: string): TokenEntry => ({
  id,
  storageId: '',
  accessor: '',
  policies: token.policies,
  displayName: token.displayName,
  entityId: token.entityId,
  type: 'batch',
  isRoot: isRootPolicy(token.policies),
  namespace,
  parent: token.parent,
  path: token.path,
  meta: token.meta,
  numUses: 0,
  createdAtMs: token.createdAtMs,
  ttlSeconds: token.ttlSeconds,
  leaseTtlSeconds: token.ttlSeconds,
  expiresAtMs: token.expiresAtMs ?? undefined,
  lastRenewalMs: undefined,
  explicitMaxTtlSeconds: 0,
  periodSeconds: 0,
  role: token.role,
  boundCidrs: token.boundCidrs,
  isOrphan: token.parent === '',
  isRenewable: false,
  origin: undefined,
  // Batch tokens are not stored, so the removal of a mount cannot revoke them.
  mountAccessor: '',
})
