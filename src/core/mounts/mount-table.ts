import { Reservations } from '../../base/reservations.js'
import { LogicalError } from '../../logical/errors.js'
import { putJson, readJson, type Storage, type Transaction } from '../../logical/storage.js'
import { ENTRY_PREFIXES, entryKey, type MountEntry, type MountKind, routePath } from './mount-entry.js'
import type { NamespaceEntry, NamespaceStore } from '../namespaces/namespaces.js'
import type { NamespaceRef } from '../../logical/request.js'

/**
 * Takes part in a transaction that moves or removes (no `after`) a mount. What it returns is called when that is stored, or
 * has failed.
 */
type MountFollower = (tx: Transaction, before: MountEntry, after: MountEntry | undefined) => () => void

/**
 * The mount tables of all namespaces: one stored record per mount, an index by namespace and path in memory. It follows
 * commits key by key, whoever makes them, and never needs to be read anew.
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

  /** Called with every change of a row, whoever made it. */
  onChange(listener: (change: { before: MountEntry | undefined; after: MountEntry | undefined }) => void): void {
    this.#listener = listener
  }

  follow(follower: MountFollower): void {
    this.#follower = follower
  }

  /**
   * The record of this key has changed: reads it again. Returns the mount that has left the path where it was, if one has.
   */
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

  /** With those whose record is on its way to the disk, as it will be. */
  allDecided(): MountEntry[] {
    return this.#reservations.over(this.#byKey)
  }

  /** The rows of one table and namespace, ordered by path. A local mount hides a shared one at the same path. */
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

  /** Stores rows in one transaction; `also` may add to it. Refuses a path that has been taken meanwhile. */
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

  /** Replaces a row by what `change` makes of its current state. Refuses a path that another mount has taken meanwhile. */
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

  /** Removes a row in one transaction, to which `also` may add. */
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

  /** For within the transaction that makes a namespace: refuses one at a path where it would hide a mount. */
  refuseNamespaceAt({ path }: Pick<NamespaceEntry, 'path'>): void {
    const mount = findMountInTheWay(
      path,
      this.allDecided().flatMap((entry) => this.#place(entry)),
    )
    if (mount) throw taken(mount.namespacePath + routePath(mount.entry))
  }

  /** Throws 400 when another mount or a namespace makes the path of the entry impossible. */
  refuseTaken(entry: MountEntry): void {
    const { kind, namespaceId, path, uuid } = entry
    const conflict = listOf(this.allDecided(), kind, namespaceId).find(
      (other) => other.uuid !== uuid && isConflict(other.path, path),
    )
    if (conflict) throw taken(conflict.path)
    const [placed] = this.#place(entry)
    const namespace = placed && findNamespaceInTheWay(placed, this.#namespaces.allDecided())
    if (namespace) throw taken(namespace.path)
  }

  /** The entry with the path of its namespace; nothing where the namespace has yet to arrive. */
  #place(entry: MountEntry): PlacedMount[] {
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

/** Where a mount is, seen from the root namespace. */
export interface PlacedMount {
  readonly entry: Pick<MountEntry, 'kind' | 'path'>
  readonly namespacePath: string
}

/**
 * A request belongs to the namespace that its path begins with, whatever is mounted there. So a mount at the path of a
 * namespace, below it, or above it makes one of the two unreachable, unless it lies inside of that very namespace.
 */
const isInTheWay = ({ entry, namespacePath }: PlacedMount, path: string): boolean => {
  if (path === '' || namespacePath.startsWith(path)) return false
  const full = namespacePath + routePath(entry)
  return full.startsWith(path) || path.startsWith(full)
}

/** The namespace that makes it impossible to mount there. */
export const findNamespaceInTheWay = <T extends NamespaceRef>(
  mount: PlacedMount,
  namespaces: readonly T[],
): T | undefined => namespaces.find(({ path }) => isInTheWay(mount, path))

/** The mount that makes it impossible to have a namespace at `path`. */
export const findMountInTheWay = <T extends PlacedMount>(path: string, mounts: readonly T[]): T | undefined =>
  mounts.find((mount) => isInTheWay(mount, path))
