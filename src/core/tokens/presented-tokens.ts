import type { NamespaceRef } from '../../logical/request.js'
import { type BatchToken, isBatch, openBatch, sealBatch } from './token-batch.js'
import { RecentCache } from '../../base/recent-cache.js'
import { remembered } from '../../base/remembered.js'
import { parsePresented, positionIn, presentLong } from './token-format.js'
import { isRootPolicy, type StoredToken, type TokenEntry } from './token-record.js'
import type { TokenTable, TokenTableOptions } from './token-table.js'

export interface TokenFormsOptions extends Pick<TokenTableOptions, 'random' | 'findNamespace'> {
  /** Derives a key for one purpose. It is equal on all clusters with the same keyring, and never rotated. */
  readonly deriveKey: (purpose: string) => Buffer
  /** Returns the last position of the store's log, which long tokens contain. */
  readonly position?: () => number
}

/** Generation size of the cache: it holds at most twice as many tokens. */
const CACHED_FORMS = 20_000

/** Translates between tokens as clients present them and tokens as stored. A cached token costs one map lookup. */
export class PresentedTokens {
  readonly #options: TokenFormsOptions
  readonly #table: TokenTable
  /** Presented token -> the storage ID of a service token, or the whole batch token. */
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

  /** Returns a storage ID or a batch token, live or not; undefined if it is not a token of this cluster. */
  resolve(presented: string): string | TokenEntry | undefined {
    const known = this.#known.get(presented)
    if (known !== undefined) return known
    const form = isBatch(presented) ? this.#openBatch(presented) : this.#storageIdOf(presented)
    // Invalid tokens are not cached, so that guesses cannot evict valid ones.
    if (form !== undefined) this.#known.set(presented, form)
    return form
  }

  /** Returns the log index from which on an unknown token is present if it exists; 0 for all other tokens. */
  awaitedIndex(presented: string): number {
    if (isBatch(presented) || this.resolve(presented) !== undefined) return 0
    const isGenuine = parsePresented(() => this.#key('token-form'), presented) !== undefined
    return isGenuine ? positionIn(presented) : 0
  }

  makeBatch(token: StoredToken, namespace: NamespaceRef): TokenEntry {
    return batchEntry(token, namespace, sealBatch(this.#key('batch-token'), this.#options.random, token))
  }

  /** Clears the cache: all its storage IDs and tokens are invalid. */
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

/** Builds the entry field by field: composing an object of this size from others costs more than its cryptography. */
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
  // Batch tokens are not stored, so a removed mount cannot revoke them.
  mountAccessor: '',
})
