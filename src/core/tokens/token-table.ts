import type { Random } from '../../base/random.js'
import { hmacSha256Hex } from '../../crypto/hmac.js'
import type { NamespaceRef } from '../../logical/request.js'
import { putJson, type ReadStorage, readJson, type Storage, type Transaction } from '../../logical/storage.js'
import { RecentCache } from '../../base/recent-cache.js'
import { namespaceIdOf } from './token-format.js'
import { leaseIdOf, type StoredToken, TOKEN_KEYS, type TokenEntry, toEntry } from './token-record.js'

interface TokenTableOptions {
  /** The whole barrier; only `sys/token/`, `sys/expire/` and `cubbyhole/` are touched. */
  readonly storage: Storage
  readonly random: Random
  readonly findNamespace: (id: string) => NamespaceRef | undefined
}

const ID_PREFIX = TOKEN_KEYS.id('')

/** Decoded records that are kept; twice as many at most. */
const CACHED_TOKENS = 20_000

/**
 * The stored tokens: by storage id (an HMAC of the token, so that a look at the database shows none), by accessor, by
 * parent, by lease, by end. All keys of a token change in one transaction. It knows nothing about who may live.
 */
export class TokenTable {
  readonly storage: Storage
  readonly #options: TokenTableOptions
  readonly #entries = new RecentCache<TokenEntry>(CACHED_TOKENS)
  /** Only ever what is committed: a salt of a write that fails must not be remembered. */
  #salt: Buffer | undefined

  constructor(options: TokenTableOptions) {
    this.storage = options.storage
    this.#options = options
  }

  /** Undefined as long as this cluster has no token at all. */
  storageId(id: string): string | undefined {
    const salt = this.#committedSalt()
    return salt && saltedId(salt, id)
  }

  /** The storage id as the transaction sees it: a salt that it brings counts within it, and is not remembered. */
  storageIdIn(tx: ReadStorage, id: string): string | undefined {
    const salt = tx.get(TOKEN_KEYS.salt)
    return salt && saltedId(salt, id)
  }

  find(storageId: string): TokenEntry | undefined {
    const known = this.#entries.get(storageId)
    if (known) return known
    const entry = this.#decode(storageId, this.read(this.storage, storageId))
    if (entry) this.#entries.set(storageId, entry)
    return entry
  }

  /** The record as the transaction sees it: writes that wait for the disk included. */
  read(reader: ReadStorage, storageId: string): StoredToken | undefined {
    return readJson<StoredToken>(reader, TOKEN_KEYS.id(storageId))
  }

  /** Adds a token and every key that leads to it; the first one of a cluster brings the salt. Returns the storage id. */
  insert(tx: Transaction, record: StoredToken): string {
    const salt = tx.get(TOKEN_KEYS.salt) ?? this.#makeSalt(tx)
    const storageId = saltedId(salt, record.id)
    putJson(tx, TOKEN_KEYS.id(storageId), record)
    putJson(tx, accessorKey(salt, record.accessor), { accessor: record.accessor, token: storageId })
    if (record.parent !== '') putJson(tx, TOKEN_KEYS.children(record.parent) + storageId, 1)
    if (record.sweepAtMs !== null) {
      putJson(tx, TOKEN_KEYS.leases(record.namespaceId) + leaseIdOf(record, storageId), storageId)
      putJson(tx, TOKEN_KEYS.time(record.sweepAtMs, storageId), 1)
    }
    return storageId
  }

  /** Writes the record of a token whose accessor, path and namespace stay; its end and its parent may change. */
  replace(tx: Transaction, storageId: string, before: StoredToken, after: StoredToken): void {
    putJson(tx, TOKEN_KEYS.id(storageId), after)
    if (before.sweepAtMs !== after.sweepAtMs) {
      if (before.sweepAtMs !== null) tx.delete(TOKEN_KEYS.time(before.sweepAtMs, storageId))
      if (after.sweepAtMs !== null) putJson(tx, TOKEN_KEYS.time(after.sweepAtMs, storageId), 1)
    }
    if (before.parent !== after.parent) tx.delete(TOKEN_KEYS.children(before.parent) + storageId)
  }

  remove(tx: Transaction, storageId: string): void {
    const record = this.read(tx, storageId)
    const salt = tx.get(TOKEN_KEYS.salt)
    if (!record || !salt) return
    tx.delete(TOKEN_KEYS.id(storageId))
    tx.delete(accessorKey(salt, record.accessor))
    if (record.parent !== '') tx.delete(TOKEN_KEYS.children(record.parent) + storageId)
    tx.delete(TOKEN_KEYS.leases(record.namespaceId) + leaseIdOf(record, storageId))
    if (record.sweepAtMs !== null) tx.delete(TOKEN_KEYS.time(record.sweepAtMs, storageId))
  }

  /** Storage ids of the children, those that came since `after` at most `limit`. */
  async children(storageId: string, options: { after?: string; limit?: number } = {}): Promise<string[]> {
    return this.storage.list(TOKEN_KEYS.children(storageId), options)
  }

  findByAccessor(accessor: string): TokenEntry | undefined {
    const salt = this.#committedSalt()
    if (!salt || accessor === '') return undefined
    const row = readJson<{ token: string }>(this.storage, accessorKey(salt, accessor))
    return row && this.find(row.token)
  }

  /** The number of service tokens, in all namespaces. */
  async count(): Promise<number> {
    return (await this.storage.keys(TOKEN_KEYS.allAccessors)).length
  }

  async accessors(namespaceId: string): Promise<string[]> {
    const accessors: string[] = []
    for (const key of await this.storage.keys(TOKEN_KEYS.accessors(namespaceId))) {
      const row = readJson<{ accessor: string; token: string }>(this.storage, key)
      if (row) accessors.push(row.accessor)
    }
    return accessors
  }

  /** A key has changed. Returns whether everything that was derived from the salt is void. */
  invalidate(key: string): boolean {
    if (key === TOKEN_KEYS.salt) {
      this.#salt = undefined
      this.#entries.clear()
      return true
    }
    if (key.startsWith(ID_PREFIX)) this.#entries.delete(key.slice(ID_PREFIX.length))
    return false
  }

  decode(storageId: string, record: StoredToken): TokenEntry {
    const entry = this.#decode(storageId, record)
    if (!entry) throw new Error(`a token was made in the unknown namespace ${record.namespaceId}`)
    return entry
  }

  #decode(storageId: string, record: StoredToken | undefined): TokenEntry | undefined {
    const namespace = record && this.#options.findNamespace(record.namespaceId)
    return namespace && toEntry(record, namespace, storageId)
  }

  #committedSalt(): Buffer | undefined {
    this.#salt ??= this.storage.get(TOKEN_KEYS.salt)
    return this.#salt
  }

  #makeSalt(tx: Transaction): Buffer {
    const salt = this.#options.random.bytes(32)
    tx.put(TOKEN_KEYS.salt, salt)
    return salt
  }
}

const saltedId = (salt: Buffer, id: string): string => `h${hmacSha256Hex(salt, id)}`

const accessorKey = (salt: Buffer, accessor: string): string =>
  TOKEN_KEYS.accessors(namespaceIdOf(accessor)) + hmacSha256Hex(salt, accessor)
