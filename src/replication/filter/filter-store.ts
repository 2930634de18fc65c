import { LIMITS } from '../../base/limits.js'
import { invalid } from '../../logical/errors.js'
import type { ReadStorage, Storage, Transaction } from '../../logical/storage.js'
import { putJson, readJson } from '../../logical/storage.js'
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

/** A mount on its way from one path to another: not stored yet, and in the mount table already. */
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
 * The path filters of all secondaries, one replicated record each, compiled against the mount tables as they are. Every
 * member of the set has all of them: a secondary hides what its own rule says, a promoted copy goes on applying them.
 */
export class FilterStore {
  readonly #options: FilterStoreOptions
  readonly #storage: Storage
  readonly #remembered = new Map<string, KnownFilter>()
  readonly #compiled = new Map<string, { readonly facts: string; readonly filter: CompiledFilter }>()
  /** The ids of all filters that there are, or were. */
  readonly #ids = new Set<string>()
  readonly #inMotion = new Set<InMotion>()
  /** Of each filter that there is, as it was noted last. */
  readonly #digests = new Map<string, string>()

  constructor(options: FilterStoreOptions) {
    this.#options = options
    this.#storage = options.storage
  }

  /** Loads the ids of all filters, before mounts can be moved. */
  async load(): Promise<void> {
    for (const id of await this.#storage.list(KEYS.filters)) {
      this.#ids.add(id)
      this.noteChange(id)
    }
  }

  /**
   * Takes note of the filter as it is now. Returns whether it asks for other data than it did at the last time, or when all
   * were loaded: it was replaced or deleted, or has come to hold back a mount that was shown.
   */
  noteChange(id: string): boolean {
    const { digest } = this.#read(id)
    const before = this.#digests.get(id) ?? ''
    if (digest === '') this.#digests.delete(id)
    else this.#digests.set(id, digest)
    return digest !== before
  }

  find(id: string): FilterRule | undefined {
    const { record } = this.#read(id)
    return record && { mode: record.mode, paths: record.paths }
  }

  /** The whole filter with its digest. Equal digests ask for equal data; that of no filter is empty. */
  known(id: string): KnownFilter {
    return this.#read(id)
  }

  /**
   * The rule against the mounts and namespaces as they are. A mount that was filtered and has just gone stays filtered,
   * for its data is deleted key by key after it.
   */
  compiled(id: string): CompiledFilter | undefined {
    const { record } = this.#read(id)
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

  /** Compiles a record of another time for the mounts and namespaces of now. */
  compile(record: FilterRecord): CompiledFilter {
    return compileRecord(record, this.#options.mounts(), this.#options.namespaces())
  }

  /** Equal as long as no mount and no namespace came, went or moved. */
  #facts(): string {
    const mounts = this.#options.mounts().map((mount) => `${mount.uuid} ${mount.path}`)
    return [...mounts, '', ...this.#options.namespaces().map((namespace) => namespace.path)].join('\n')
  }

  /** Replaces the whole rule, which may have been stored under another id until now. */
  async put(id: string, rule: FilterRule, formerId = id): Promise<void> {
    await this.#storage.write((tx) => {
      const former = readJson<FilterRecord>(tx, filterKey(formerId))
      if (!former && this.#count() >= LIMITS.filtersMax) throw invalid(`there are ${LIMITS.filtersMax} filters already`)
      this.#ids.add(id)
      const { retired = [], revision = 0 } = former ?? {}
      if (formerId !== id) tx.delete(filterKey(formerId))
      putJson(tx, filterKey(id), { ...rule, retired, revision: revision + 1 } satisfies FilterRecord)
    })
  }

  #count(): number {
    return [...this.#ids].filter((id) => this.#read(id).record !== undefined).length
  }

  delete(id: string): Promise<void> {
    return this.#storage.write((tx) => tx.delete(filterKey(id)))
  }

  /**
   * Part of the transaction that moves or removes a mount, so that no entry of the log is ever judged by a rule that has
   * not followed. What it returns is to be called when the transaction is stored, or has failed.
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

  /** Lets the filters follow the transaction that removes a namespace. */
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

  /** This key has changed: a filter is read and compiled anew when next asked for. */
  invalidate(key: string): void {
    if (!key.startsWith(KEYS.filters)) return
    const id = key.slice(KEYS.filters.length)
    this.#ids.add(id)
    this.#remembered.delete(id)
    this.#compiled.delete(id)
  }

  /** Asked for with every request on a secondary, so it is remembered, and that there is none as well. */
  #read(id: string): KnownFilter {
    const known = this.#remembered.get(id)
    if (known) return known
    if (this.#remembered.size > REMEMBERED_MAX) this.#remembered.clear()
    const record = readJson<FilterRecord>(this.#storage, filterKey(id))
    const read = knownFilter(record)
    this.#remembered.set(id, read)
    return read
  }
}

/** Mounts that were filtered a moment ago and that there are no more. */
const goneOf = (filter: CompiledFilter | undefined, mounts: readonly MountFact[]): string[] => {
  if (!filter) return []
  const living = new Set(mounts.map(({ uuid }) => uuid))
  return [...filter.filteredMounts].filter((uuid) => !living.has(uuid))
}
