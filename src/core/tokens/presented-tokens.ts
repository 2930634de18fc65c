import type { Random } from '../../base/random.js'
import type { NamespaceRef } from '../../logical/request.js'
import { type BatchToken, isBatch, openBatch, sealBatch } from './token-batch.js'
import { RecentCache } from '../../base/recent-cache.js'
import { parsePresented, positionIn, presentLong } from './token-format.js'
import { isRootPolicy, type StoredToken, type TokenEntry } from './token-record.js'
import type { TokenTable } from './token-table.js'

interface TokenFormsOptions {
  readonly deriveKey: (purpose: string) => Buffer
  readonly random: Random
  readonly findNamespace: (id: string) => NamespaceRef | undefined
  readonly position?: () => number
}

/** Forms of tokens that are remembered; twice as many at most. */
const CACHED_FORMS = 20_000

/**
 * Translates between tokens as clients hold them and tokens as they are stored. A form that was seen once costs one
 * look into a map.
 */
export class PresentedTokens {
  readonly #options: TokenFormsOptions
  readonly #table: TokenTable
  /** The presented form -> the storage id of a service token, or the whole of a batch token. */
  readonly #known = new RecentCache<string | TokenEntry>(CACHED_FORMS)
  readonly #keys = new Map<string, Buffer>()

  constructor(options: TokenFormsOptions, table: TokenTable) {
    this.#options = options
    this.#table = table
  }

  /** The form of a token that a client gets to see: the long form, but for root tokens and chosen ids. */
  present(entry: Pick<TokenEntry, 'id' | 'isRoot' | 'type'>): string {
    if (entry.isRoot || entry.type === 'batch') return entry.id
    return presentLong(this.#key('token-form'), entry.id, this.#options.position?.() ?? 0)
  }

  /** A storage id or a batch token, dead or alive; undefined for what is no token of this cluster. */
  resolve(presented: string): string | TokenEntry | undefined {
    const known = this.#known.get(presented)
    if (known !== undefined) return known
    const form = isBatch(presented) ? this.#openBatch(presented) : this.#storageIdOf(presented)
    // A form that leads to no token is not remembered: guesses must not push out forms that are in use.
    if (form !== undefined) this.#known.set(presented, form)
    return form
  }

  /** The index of the log at which an unknown token is there, if it ever was; 0 for all others. */
  awaitedIndex(presented: string): number {
    if (isBatch(presented) || this.resolve(presented) !== undefined) return 0
    const isGenuine = parsePresented(() => this.#key('token-form'), presented) !== undefined
    return isGenuine ? positionIn(presented) : 0
  }

  makeBatch(token: StoredToken, namespace: NamespaceRef): TokenEntry {
    return batchEntry(token, namespace, sealBatch(this.#key('batch-token'), this.#options.random, token))
  }

  /** Forgets all forms: the storage ids and tokens that they led to are void. */
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
    let key = this.#keys.get(purpose)
    if (!key) {
      key = this.#options.deriveKey(purpose)
      this.#keys.set(purpose, key)
    }
    return key
  }
}

/** Written out: an object of this size that is put together from others costs more than all its cryptography. */
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
  // Nothing is stored of a batch token that could end with a mount.
  mountAccessor: '',
})
