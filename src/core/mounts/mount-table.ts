import { Reservations } from '../../base/reservations.js'
import { LogicalError } from '../../logical/errors.js'
import { putJson, readJson, type Storage, type Transaction } from '../../logical/storage.js'
import { ENTRY_PREFIXES, entryKey, type MountEntry, type MountKind, routePath } from './mount-entry.js'
import type { NamespaceEntry, NamespaceStore } from '../namespaces/namespaces.js'

/**
 * Adds writes to a transaction that moves a mount or, if `after` is undefined, removes the mount. Returns a function
 * that is called once the transaction is stored or has failed.
 */
type MountFollower = (tx: Transaction, before: MountEntry, after: MountEntry | undefined) => () => void

/**
 * The mount tables of all namespaces: one stored record per mount, with an in-memory index by namespace and path. The
 * index follows all commits key by key, so it needs no full reload.
 */
export class MountTable {
  readonly #storage: Storage
  readonly #namespaces: Pick<NamespaceStore, 'allDecided' | 'findById'>
  readonly #byKey = new Map<string, MountEntry>()
  readonly #reservations = new Reservations<MountEntry>()
  #listener: (change: { before: MountEntry | undefined; after: MountEntry | undefined }) => void = () => {}

  #follower: MountFollower = () => () => undefined

  constructor(storage: Storage, namespaces: Pick<NamespaceStore, 'allDecided' | 'findById'>) {
    this.#storage = storage
    this.#namespaces = namespaces
  }

  async load(): Promise<void> {
    this.#byKey.clear()
    for (const prefix of ENTRY_PREFIXES) {
      for (const key of await this.#storage.keys(prefix)) this.refresh(key)
    }
  }

  /** Registers a listener for all changes of rows, including replicated ones. */
  onChange(listener: (change: { before: MountEntry | undefined; after: MountEntry | undefined }) => void): void {
    this.#listener = listener
  }

  follow(follower: MountFollower): void {
    this.#follower = follower
  }

  /** Rereads the record of a changed key. If the change moved or removed the mount, returns its previous entry. */
  refresh(key: string): MountEntry | undefined {
    const before = this.#byKey.get(key)
    const after = readJson<MountEntry>(this.#storage, key)
    if (after) this.#byKey.set(key, after)
    else this.#byKey.delete(key)
    if (before || after) this.#listener({ before, after })
    return before && before.path !== after?.path ? before : undefined
  }

  findByKey(key: string): MountEntry | undefined {
    return this.#byKey.get(key)
  }

  all(): MountEntry[] {
    return [...this.#byKey.values()]
  }

  /** Returns all mounts, with pending writes already applied. */
  allDecided(): MountEntry[] {
    return this.#reservations.over(this.#byKey)
  }

  /**
   * Returns the rows of one table and namespace, ordered by path. A local mount hides a replicated one at the same
   * path.
   */
  list(kind: MountKind, namespaceId: string): MountEntry[] {
    return listOf(this.#byKey.values(), kind, namespaceId)
  }

  find(kind: MountKind, namespaceId: string, path: string): MountEntry | undefined {
    return this.list(kind, namespaceId).find((entry) => entry.path === path)
  }

  findByAccessor(accessor: string): MountEntry | undefined {
    for (const entry of this.#byKey.values()) if (entry.accessor === accessor) return entry
    return undefined
  }

  /**
   * Stores entries in one transaction, to which `also` can add writes. Rejects with LogicalError 400 if a path is in
   * use.
   */
  async add(entries: readonly MountEntry[], also?: (tx: Transaction) => void): Promise<void> {
    const stored = this.#storage.write((tx) => {
      for (const entry of entries) {
        this.refuseTaken(entry)
        putJson(tx, entryKey(entry), entry)
      }
      also?.(tx)
      for (const entry of entries) this.#reservations.reserve(entryKey(entry), entry)
    })
    await stored.finally(() => {
      for (const entry of entries) this.#reservations.release(entryKey(entry), entry)
    })
  }

  /**
   * Replaces an entry with the result of `change`, which receives the stored entry. Rejects with LogicalError 400 if
   * the entry no longer exists or its new path is in use.
   */
  async update(entry: MountEntry, change: (current: MountEntry) => MountEntry): Promise<MountEntry> {
    const key = entryKey(entry)
    let reserved = entry
    let settled = () => {}
    const stored = this.#storage.write((tx) => {
      const current = readJson<MountEntry>(tx, key)
      if (!current) throw new LogicalError('invalid-request', `no mount entry at ${entry.path}`)
      const changed = change(current)
      if (changed.path !== current.path) {
        this.refuseTaken(changed)
        settled = this.#follower(tx, current, changed)
      }
      putJson(tx, key, changed)
      reserved = changed
      this.#reservations.reserve(key, changed)
      return changed
    })
    return stored.finally(() => {
      this.#reservations.release(key, reserved)
      settled()
    })
  }

  /** Removes an entry in one transaction, to which `also` can add writes. */
  async remove(entry: MountEntry, also?: (tx: Transaction) => void): Promise<void> {
    const key = entryKey(entry)
    let settled = () => {}
    const stored = this.#storage.write((tx) => {
      settled = this.#follower(tx, readJson<MountEntry>(tx, key) ?? entry, undefined)
      tx.delete(key)
      also?.(tx)
    })
    await stored.finally(() => settled())
  }

  /**
   * Throws LogicalError 400 if a new namespace at this path would hide a mount. Must run inside the transaction that
   * creates the namespace.
   */
  refuseNamespaceAt({ path }: Pick<NamespaceEntry, 'path'>): void {
    const located = this.allDecided().flatMap((entry) => this.#locate(entry))
    const mount = located.find((one) => conflictsWithNamespace(one, path))
    if (mount) throw taken(mount.namespacePath + routePath(mount.entry))
  }

  /** Throws 400, by default with `taken`, if another mount or a namespace conflicts with the entry's path. */
  refuseTaken(entry: MountEntry, errorOf = taken): void {
    const { kind, namespaceId, path, uuid } = entry
    const conflict = listOf(this.allDecided(), kind, namespaceId).find(
      (other) => other.uuid !== uuid && isConflict(other.path, path),
    )
    if (conflict) throw errorOf(conflict.path)
    const [located] = this.#locate(entry)
    const namespace =
      located && this.#namespaces.allDecided().find((other) => conflictsWithNamespace(located, other.path))
    if (namespace) throw errorOf(namespace.path)
  }

  /** Returns the entry with the path of its namespace, or nothing if the namespace has not replicated yet. */
  #locate(entry: MountEntry): MountLocation[] {
    const namespace = this.#namespaces.findById(entry.namespaceId)
    return namespace ? [{ entry, namespacePath: namespace.path }] : []
  }
}

const listOf = (rows: Iterable<MountEntry>, kind: MountKind, namespaceId: string): MountEntry[] => {
  const byPath = new Map<string, MountEntry>()
  for (const entry of rows) {
    if (entry.kind !== kind || entry.namespaceId !== namespaceId) continue
    if (!byPath.has(entry.path) || entry.isLocal) byPath.set(entry.path, entry)
  }
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

const taken = (path: string): LogicalError => new LogicalError('invalid-request', `path is already in use at ${path}`)

const isConflict = (one: string, other: string): boolean => one.startsWith(other) || other.startsWith(one)

/** The location of a mount, relative to the root namespace. */
export interface MountLocation {
  readonly entry: Pick<MountEntry, 'kind' | 'path'>
  readonly namespacePath: string
}

/**
 * Returns whether a mount conflicts with a namespace at `path`. A request belongs to the namespace that its path begins
 * with, regardless of mounts. A mount at, below or above the path of a namespace would therefore make one of them
 * unreachable, unless it is inside that namespace.
 */
export const conflictsWithNamespace = ({ entry, namespacePath }: MountLocation, path: string): boolean => {
  if (path === '' || namespacePath.startsWith(path)) return false
  const full = namespacePath + routePath(entry)
  return full.startsWith(path) || path.startsWith(full)
}
