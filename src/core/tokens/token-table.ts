import type { Random } from '../../base/random.js'
import type { NamespaceRef } from '../../logical/request.js'
import { pagesOf, readJson, type ReadStorage, type Storage, type Transaction } from '../../logical/storage.js'
import { RecentCache } from '../../base/recent-cache.js'
import { decodeToken, encodeToken } from './token-codec.js'
import { accessorFrom, namespaceIdOf, newAccessor } from './token-format.js'
import { leaseIdOf, type StoredToken, timeKey, toEntry, TOKEN_KEYS, type TokenEntry } from './token-record.js'
import { hmacSha256, hmacSha256Hex } from '../../crypto/digest.js'

export interface TokenTableOptions {
  /** The whole barrier; only `sys/token/`, `sys/expire/` and `cubbyhole/` are used. */
  readonly storage: Storage
  readonly random: Random
  readonly findNamespace: (id: string) => NamespaceRef | undefined
}

const ID_PREFIX = TOKEN_KEYS.ids

/** The size of one cache generation. The cache holds at most two generations. */
const CACHED_TOKENS = 20_000

/** The value of a row whose information is in its key. */
const ROW = Buffer.from('1')

/**
 * The stored tokens, and the indexes to find them. Each token has:
 *
 * - a record by storage ID, which is an HMAC, so that the database reveals no token
 * - a row by parent, if it has a parent
 * - a row by expiry, if it expires; this row also contains the path
 *
 * The storage ID is derived from the accessor. An indexed token has two more rows instead: one maps its accessor to the
 * storage ID, and one contains its path. All keys of a token change in one transaction. The table does not decide
 * whether a token is live.
 */
export class TokenTable {
  readonly storage: Storage
  readonly #options: TokenTableOptions
  readonly #entries = new RecentCache<TokenEntry>(CACHED_TOKENS)
  /** Names derived from the stored salt. Only set after a commit, because the write of a new salt can fail. */
  #names: TokenNames | undefined

  constructor(options: TokenTableOptions) {
    this.storage = options.storage
    this.#options = options
  }

  find(storageId: string): TokenEntry | undefined {
    const known = this.#entries.get(storageId)
    if (known) return known
    const entry = this.#decode(storageId, this.read(this.storage, storageId))
    if (entry) this.#entries.set(storageId, entry)
    return entry
  }

  findById(id: string): TokenEntry | undefined {
    const names = this.#committedNames()
    if (!names) return undefined
    const entry = this.find(names.storageIdOf(names.accessorOf(id))) ?? this.find(names.indexedStorageIdOf(id))
    return entry?.id === id ? entry : undefined
  }

  findByAccessor(accessor: string): TokenEntry | undefined {
    const names = this.#committedNames()
    if (!names || accessor === '') return undefined
    const found = this.find(names.storageIdOf(accessor))
    if (found) return found
    const row = readJson<{ token: string }>(this.storage, accessorKey(names, accessor))
    return row && this.find(row.token)
  }

  /** Returns whether a token with this ID exists, as seen by the transaction. */
  isTaken(tx: ReadStorage, id: string): boolean {
    const names = this.#namesIn(tx)
    if (!names) return false
    return [names.storageIdOf(names.accessorOf(id)), names.indexedStorageIdOf(id)].some(
      (storageId) => this.read(tx, storageId)?.id === id,
    )
  }

  /** Returns the record as seen by the transaction, including writes not yet durable. */
  read(reader: ReadStorage, storageId: string): StoredToken | undefined {
    const stored = reader.get(TOKEN_KEYS.id(storageId))
    return stored && decodeToken(stored)
  }

  /**
   * Adds a token with all its index keys; the first token of a cluster creates the salt. `recordOf` builds the record
   * for the accessor of the token.
   */
  insert(
    tx: Transaction,
    { id, isIndexed }: Pick<StoredToken, 'id' | 'isIndexed'>,
    recordOf: (accessor: string) => StoredToken,
  ): TokenEntry {
    const names = this.#namesIn(tx) ?? this.#makeNames(tx)
    const accessor = isIndexed ? newAccessor(this.#options.random, namespaceIdOf(id)) : names.accessorOf(id)
    const storageId = isIndexed ? names.indexedStorageIdOf(id) : names.storageIdOf(accessor)
    const record = recordOf(accessor)
    tx.put(TOKEN_KEYS.id(storageId), encodeToken(record))
    if (record.parent !== '') tx.put(TOKEN_KEYS.children(record.parent) + storageId, ROW)
    if (record.sweepAtMs !== null) tx.put(timeKey(record.sweepAtMs, storageId, record), ROW)
    if (isIndexed) {
      tx.put(accessorKey(names, accessor), Buffer.from(JSON.stringify({ accessor, token: storageId })))
      if (record.sweepAtMs !== null) tx.put(indexedLeaseKey(record, storageId), ROW)
    }
    const entry = this.#decode(storageId, record)
    if (!entry) throw new Error(`the new token has the unknown namespace ${record.namespaceId}`)
    return entry
  }

  /** Replaces the record of a token. Accessor, path and namespace stay the same; expiry and parent may change. */
  replace(tx: Transaction, storageId: string, before: StoredToken, after: StoredToken): void {
    tx.put(TOKEN_KEYS.id(storageId), encodeToken(after))
    if (before.sweepAtMs !== after.sweepAtMs) {
      if (before.sweepAtMs !== null) tx.delete(timeKey(before.sweepAtMs, storageId, before))
      if (after.sweepAtMs !== null) tx.put(timeKey(after.sweepAtMs, storageId, after), ROW)
    }
    if (before.parent !== after.parent) tx.delete(TOKEN_KEYS.children(before.parent) + storageId)
  }

  remove(tx: Transaction, storageId: string): void {
    const record = this.read(tx, storageId)
    const names = this.#namesIn(tx)
    if (!record || !names) return
    tx.delete(TOKEN_KEYS.id(storageId))
    if (record.parent !== '') tx.delete(TOKEN_KEYS.children(record.parent) + storageId)
    if (record.sweepAtMs !== null) tx.delete(timeKey(record.sweepAtMs, storageId, record))
    if (!record.isIndexed) return
    tx.delete(accessorKey(names, record.accessor))
    tx.delete(indexedLeaseKey(record, storageId))
  }

  /** Returns storage IDs of the children, at most `limit`, starting after `after`. */
  async children(storageId: string, options: { after?: string; limit?: number } = {}): Promise<string[]> {
    return this.storage.list(TOKEN_KEYS.children(storageId), options)
  }

  /** Returns the number of service tokens in all namespaces. */
  async count(): Promise<number> {
    return (await this.storage.keys(TOKEN_KEYS.ids)).length
  }

  /** Returns the accessors of the service tokens of a namespace. */
  async accessors(namespaceId: string): Promise<string[]> {
    const accessors: string[] = []
    for await (const keys of pagesOf(this.storage, TOKEN_KEYS.ids)) {
      for (const key of keys) {
        const record = this.read(this.storage, key.slice(ID_PREFIX.length))
        if (record?.namespaceId === namespaceId) accessors.push(record.accessor)
      }
    }
    return accessors
  }

  /**
   * Discards cached data of a changed key. Returns true if the salt has changed, which makes all derived names invalid.
   */
  invalidate(key: string): boolean {
    if (key === TOKEN_KEYS.salt) {
      this.#names = undefined
      this.#entries.clear()
      return true
    }
    if (key.startsWith(ID_PREFIX)) this.#entries.delete(key.slice(ID_PREFIX.length))
    return false
  }

  #decode(storageId: string, record: StoredToken | undefined): TokenEntry | undefined {
    const namespace = record && this.#options.findNamespace(record.namespaceId)
    return namespace && toEntry(record, namespace, storageId)
  }

  /** Returns the names derived from the stored salt; undefined if this cluster has never had a token. */
  #committedNames(): TokenNames | undefined {
    if (!this.#names) {
      const salt = this.storage.get(TOKEN_KEYS.salt)
      this.#names = salt && new TokenNames(salt)
    }
    return this.#names
  }

  /** Returns the names as seen by the transaction, which may have created the salt itself. */
  #namesIn(tx: ReadStorage): TokenNames | undefined {
    const known = this.#committedNames()
    if (known) return known
    const salt = tx.get(TOKEN_KEYS.salt)
    return salt && new TokenNames(salt)
  }

  #makeNames(tx: Transaction): TokenNames {
    const salt = this.#options.random.bytes(32)
    tx.put(TOKEN_KEYS.salt, salt)
    return new TokenNames(salt)
  }
}

const accessorKey = (names: TokenNames, accessor: string): string =>
  TOKEN_KEYS.accessors(namespaceIdOf(accessor)) + names.rowOf(accessor)

const indexedLeaseKey = (record: StoredToken, storageId: string): string =>
  TOKEN_KEYS.leases(record.namespaceId) + leaseIdOf(record, storageId)

/**
 * Derives the names of a token with the cluster's salt: the accessor from the ID, and the storage ID from the accessor.
 * ID and accessor thus lead to the same record, and neither step can be reversed. The two steps use different keys, so
 * that no presented ID can produce the storage ID of an accessor.
 */
class TokenNames {
  readonly salt: Buffer
  readonly #accessors: Buffer
  readonly #storageIds: Buffer

  constructor(salt: Buffer) {
    this.salt = salt
    this.#accessors = hmacSha256(salt, 'accessors of tokens')
    this.#storageIds = hmacSha256(salt, 'storage ids of accessors')
  }

  accessorOf(id: string): string {
    return accessorFrom(hmacSha256(this.#accessors, id), namespaceIdOf(id))
  }

  storageIdOf(accessor: string): string {
    return `h${hmacSha256Hex(this.#storageIds, accessor)}`
  }

  /**
   * Returns the storage ID of a token with a custom ID, or of a token from an earlier version. The accessor of such a
   * token is random and has an index row.
   */
  indexedStorageIdOf(id: string): string {
    return `h${hmacSha256Hex(this.salt, id)}`
  }

  /** Returns the name of a random accessor's index row. */
  rowOf(accessor: string): string {
    return hmacSha256Hex(this.salt, accessor)
  }
}
