import { Reservations } from '../../base/reservations.js'
import { LogicalError } from '../../logical/errors.js'
import { normalizeNamespacePath } from '../../logical/namespace-path.js'
import { type NamespaceRef, ROOT_NAMESPACE } from '../../logical/request.js'
import type { Storage, Transaction } from '../../logical/storage.js'
import { putJson, readJson } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'

export interface NamespaceEntry extends NamespaceRef {
  readonly customMetadata: Readonly<Record<string, string>>
}

/**
 * Adds writes to the transaction that removes a namespace. Returns a function that is called once the transaction is
 * stored or has failed.
 */
type NamespaceFollower = (tx: Transaction, gone: NamespaceEntry) => () => void

/** The namespaces of the cluster: one stored record each, all held in memory. */
export class NamespaceStore {
  readonly #storage: Storage
  readonly #byPath = new Map<string, NamespaceEntry>()
  readonly #byId = new Map<string, NamespaceEntry>()
  /** Namespaces that are being created, by path. */
  readonly #reservations = new Reservations<NamespaceEntry>()

  #follower: NamespaceFollower = () => () => undefined

  constructor(storage: Storage) {
    this.#storage = storage
    this.#index({ ...ROOT_NAMESPACE, customMetadata: {} })
  }

  async load(): Promise<void> {
    for (const key of await this.#storage.keys(KEYS.namespaces)) this.refresh(key)
  }

  /** Rereads the record of a changed key. */
  refresh(key: string): void {
    const id = key.slice(KEYS.namespaces.length)
    const before = this.#byId.get(id)
    if (before) {
      this.#byId.delete(id)
      this.#byPath.delete(before.path)
    }
    const after = readJson<NamespaceEntry>(this.#storage, key)
    if (after) this.#index(after)
  }

  follow(follower: NamespaceFollower): void {
    this.#follower = follower
  }

  find(path: string): NamespaceEntry | undefined {
    return this.#byPath.get(path)
  }

  findById(id: string): NamespaceEntry | undefined {
    return this.#byId.get(id)
  }

  all(): NamespaceEntry[] {
    return [...this.#byId.values()]
  }

  /** Returns all namespaces, with pending writes already applied. */
  allDecided(): NamespaceEntry[] {
    return this.#reservations.over(this.#byPath)
  }

  childrenOf(path: string): NamespaceEntry[] {
    const depth = path.split('/').length
    return [...this.#byPath.values()]
      .filter(
        (entry) => entry.path !== path && entry.path.startsWith(path) && entry.path.split('/').length === depth + 1,
      )
      .sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  /**
   * Resolves the namespace of a request. Starts with the namespace in the header, and then follows the leading segments
   * of the path that name child namespaces. Throws LogicalError 404 if the header names an unknown namespace.
   */
  resolve(header: string | undefined, path: string): { namespace: NamespaceRef; path: string } {
    const named = header === undefined ? '' : normalizeNamespacePath(header)
    const start = this.#byPath.get(named)
    if (!start) throw new LogicalError('not-found', 'namespace not found')
    if (this.#byPath.size === 1) return { namespace: start, path }
    let namespace = start
    let rest = path
    for (;;) {
      const slash = rest.indexOf('/')
      const child = slash < 0 ? undefined : this.#byPath.get(namespace.path + rest.slice(0, slash + 1))
      if (!child) return { namespace, path: rest }
      namespace = child
      rest = rest.slice(slash + 1)
    }
  }

  /**
   * Stores and returns a new namespace. If a namespace with this path exists, returns the existing namespace instead.
   * `refuse` throws if a namespace is not allowed at this path.
   */
  async add(entry: NamespaceEntry, refuse: (entry: NamespaceEntry) => void): Promise<NamespaceEntry> {
    const stored = this.#storage.write((tx) => {
      const taken = this.#byPath.get(entry.path) ?? this.#reservations.find(entry.path)
      if (taken) return taken
      refuse(entry)
      putJson(tx, KEYS.namespaces + entry.id, entry)
      this.#reservations.reserve(entry.path, entry)
      return entry
    })
    return stored.finally(() => this.#reservations.release(entry.path, entry))
  }

  put(entry: NamespaceEntry): Promise<void> {
    return this.#storage.write((tx) => putJson(tx, KEYS.namespaces + entry.id, entry))
  }

  async remove(entry: NamespaceEntry): Promise<void> {
    let settled = () => {}
    const stored = this.#storage.write((tx) => {
      settled = this.#follower(tx, entry)
      tx.delete(KEYS.namespaces + entry.id)
    })
    await stored.finally(() => settled())
  }

  #index(entry: NamespaceEntry): void {
    this.#byId.set(entry.id, entry)
    this.#byPath.set(entry.path, entry)
  }
}
