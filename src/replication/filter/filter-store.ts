import { LIMITS } from '../../base/limits.js'
import { invalid } from '../../logical/errors.js'
import { putJson, readJson, type ReadStorage, type Storage, type Transaction } from '../../logical/storage.js'
import type { CompiledFilter, FilterRule, MountFact, NamespaceFact } from '../model/compile-filter.js'
import {
  compileRecord,
  type FilterRecord,
  followMount,
  followNamespaceGone,
  type MountChange,
} from '../model/filter-record.js'
import { knownFilter, type KnownFilter } from './settled-filter.js'
import { KEYS } from '../../storage/keys/key-families.js'

const REMEMBERED_MAX = 2 * LIMITS.secondariesMax

const filterKey = (id: string): string => KEYS.filters + id

/** A filtered mount that is being moved or unmounted: the mount table in memory has changed, the stored one not yet. */
interface InMotion {
  readonly id: string
  readonly uuid: string
}

interface FilterStoreOptions {
  readonly storage: Storage
  readonly mounts: () => readonly MountFact[]
  readonly namespaces: () => readonly NamespaceFact[]
}

/**
 * The path filters of all secondaries, compiled against the current mount tables. Each filter is one replicated record,
 * so every cluster of the set has all filters. A secondary uses its own filter to hide data from clients. A promoted
 * secondary uses the filters of its secondaries.
 */
export class FilterStore {
  readonly #options: FilterStoreOptions
  readonly #remembered = new Map<string, KnownFilter>()
  readonly #compiled = new Map<string, { readonly facts: string; readonly filter: CompiledFilter }>()
  /** IDs of all current and deleted filters. */
  readonly #ids = new Set<string>()
  readonly #inMotion = new Set<InMotion>()
  readonly #digests = new Map<string, string>()

  constructor(options: FilterStoreOptions) {
    this.#options = options
  }

  /** Loads all filters. Must complete before mounts can be moved. */
  async load(): Promise<void> {
    for (const id of await this.#options.storage.list(KEYS.filters)) {
      this.#ids.add(id)
      this.noteChange(id)
    }
  }

  /**
   * Records the digest of a filter. Returns true if the digest has changed since the last call or since `load`. The
   * secondary then needs different data, because its filter was set, replaced or deleted, or now withholds a mount that
   * was visible before.
   */
  noteChange(id: string): boolean {
    const { digest } = this.known(id)
    const before = this.#digests.get(id) ?? ''
    if (digest === '') this.#digests.delete(id)
    else this.#digests.set(id, digest)
    return digest !== before
  }

  find(id: string): FilterRule | undefined {
    const { record } = this.known(id)
    return record && { mode: record.mode, paths: record.paths }
  }

  /**
   * Compiles a filter against the current mounts and namespaces. A filtered mount that was just unmounted stays
   * filtered, because its data is deleted key by key afterwards. Returns undefined if the secondary has no filter.
   */
  compiled(id: string): CompiledFilter | undefined {
    const { record } = this.known(id)
    if (!record) return undefined
    const known = this.#compiled.get(id)
    const facts = this.#facts()
    if (known?.facts === facts) return known.filter
    const moving = [...this.#inMotion].filter((motion) => motion.id === id).map(({ uuid }) => uuid)
    const mounts = this.#options.mounts()
    const filter = compileRecord(record, mounts, this.#options.namespaces(), [
      ...moving,
      ...goneOf(known?.filter, mounts),
    ])
    this.#compiled.set(id, { facts, filter })
    return filter
  }

  /** Compiles an earlier version of a filter against the current mounts and namespaces. */
  compile(record: FilterRecord): CompiledFilter {
    return compileRecord(record, this.#options.mounts(), this.#options.namespaces())
  }

  /** Returns a text that changes when a mount or namespace is added, removed or moved. */
  #facts(): string {
    const mounts = this.#options.mounts().map((mount) => `${mount.uuid} ${mount.path}`)
    return [...mounts, '', ...this.#options.namespaces().map((namespace) => namespace.path)].join('\n')
  }

  /**
   * Stores a filter, or replaces its rule. `formerId` is the ID of the stored filter that this filter replaces. Rejects
   * with `LogicalError` if the maximum number of filters is reached.
   */
  async put(id: string, rule: FilterRule, formerId = id): Promise<void> {
    await this.#options.storage.write((tx) => {
      const former = readJson<FilterRecord>(tx, filterKey(formerId))
      if (!former && this.#count() >= LIMITS.filtersMax)
        throw invalid(`the limit of ${LIMITS.filtersMax} filters is reached`)
      this.#ids.add(id)
      const { retired = [], revision = 0 } = former ?? {}
      if (formerId !== id) tx.delete(filterKey(formerId))
      putJson(tx, filterKey(id), { ...rule, retired, revision: revision + 1 } satisfies FilterRecord)
    })
  }

  #count(): number {
    return [...this.#ids].filter((id) => this.known(id).record !== undefined).length
  }

  delete(id: string): Promise<void> {
    return this.#options.storage.write((tx) => tx.delete(filterKey(id)))
  }

  /**
   * Updates all filters in the transaction that moves or unmounts a mount, so that no log entry is filtered with an
   * outdated rule. The caller must call the returned function when the transaction is stored or has failed.
   */
  followMount(tx: Transaction, change: MountChange): () => void {
    if (change.before.isLocal) return () => undefined
    const namespaces = this.#options.namespaces()
    const { uuid } = change.before
    const moving = [...this.#ids]
      .filter((id) => this.#isFilteredNow(tx, id, change.before))
      .map((id): InMotion => ({ id, uuid }))
    this.#rewrite(tx, (record) => followMount(record, change, namespaces))
    for (const motion of moving) this.#inMotion.add(motion)
    for (const { id } of moving) this.#compiled.delete(id)
    return () => {
      for (const motion of moving) this.#inMotion.delete(motion)
      for (const { id } of moving) this.#compiled.delete(id)
    }
  }

  /** Updates all filters in the transaction that deletes a namespace. The returned function does nothing. */
  followNamespaceGone(tx: Transaction, namespace: NamespaceFact): () => void {
    this.#rewrite(tx, (record) => followNamespaceGone(record, namespace))
    return () => undefined
  }

  #isFilteredNow(tx: ReadStorage, id: string, mount: MountFact): boolean {
    const record = readJson<FilterRecord>(tx, filterKey(id))
    return (
      record !== undefined && compileRecord(record, [mount], this.#options.namespaces()).filteredMounts.has(mount.uuid)
    )
  }

  #rewrite(tx: Transaction, change: (record: FilterRecord) => FilterRecord): void {
    for (const id of this.#ids) {
      const record = readJson<FilterRecord>(tx, filterKey(id))
      const next = record && change(record)
      if (next && next !== record) putJson(tx, filterKey(id), next)
    }
  }

  /** Drops the cached filter of a changed key. The next access reads and compiles the filter again. */
  invalidate(key: string): void {
    if (!key.startsWith(KEYS.filters)) return
    const id = key.slice(KEYS.filters.length)
    this.#ids.add(id)
    this.#remembered.delete(id)
    this.#compiled.delete(id)
  }

  /**
   * Returns the stored filter and its digest (empty without a filter). Filters with equal digests require the same
   * data. Caches the result, even if there is no filter, because every request on a secondary needs it.
   */
  known(id: string): KnownFilter {
    const known = this.#remembered.get(id)
    if (known) return known
    if (this.#remembered.size > REMEMBERED_MAX) this.#remembered.clear()
    const record = readJson<FilterRecord>(this.#options.storage, filterKey(id))
    const read = knownFilter(record)
    this.#remembered.set(id, read)
    return read
  }
}

/** Returns the IDs of mounts that were filtered before and no longer exist. */
const goneOf = (filter: CompiledFilter | undefined, mounts: readonly MountFact[]): string[] => {
  if (!filter) return []
  const living = new Set(mounts.map(({ uuid }) => uuid))
  return [...filter.filteredMounts].filter((uuid) => !living.has(uuid))
}
