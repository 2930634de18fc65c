import type { Transaction } from '../logical/storage.js'
import { putJson, readJson, type Storage } from '../logical/storage.js'
import { type CompiledFilter, compileFilter, type FilterRule, type MountFact, type NamespaceFact } from './filter.js'

/** As stored, below one key per secondary id. */
interface FilterRecord extends FilterRule {
  /** Mounts that were held back when they were unmounted: their deletions are never to be shipped. */
  readonly retired?: readonly string[]
}

const PREFIX = 'core/filters/'
const RETIRED_MAX = 1000

export const filterKey = (id: string): string => PREFIX + id

export const isFilterKey = (key: string): boolean => key.startsWith(PREFIX)

/**
 * The path filters of all secondaries, one replicated record each, compiled against the mount tables as they are. Every
 * member of the set has all of them: a secondary hides what its own rule says, a promoted copy goes on applying them.
 */
export class FilterStore {
  readonly #storage: Storage
  readonly #mounts: () => readonly MountFact[]
  readonly #namespaces: () => readonly NamespaceFact[]
  readonly #compiled = new Map<string, CompiledFilter>()

  constructor(options: {
    storage: Storage
    mounts: () => readonly MountFact[]
    namespaces: () => readonly NamespaceFact[]
  }) {
    this.#storage = options.storage
    this.#mounts = options.mounts
    this.#namespaces = options.namespaces
  }

  find(id: string): FilterRule | undefined {
    const record = this.#read(id)
    return record && { mode: record.mode, paths: record.paths }
  }

  compiled(id: string): CompiledFilter | undefined {
    const known = this.#compiled.get(id)
    if (known) return known
    const record = this.#read(id)
    if (!record) return undefined
    const made = compileFilter(record, this.#mounts(), this.#namespaces(), record.retired)
    this.#compiled.set(id, made)
    return made
  }

  /** Replaces the whole rule. */
  async put(id: string, rule: FilterRule): Promise<void> {
    await this.#storage.write((tx) => {
      const retired = readJson<FilterRecord>(tx, filterKey(id))?.retired ?? []
      putJson(tx, filterKey(id), { ...rule, retired } satisfies FilterRecord)
    })
    this.invalidate()
  }

  async delete(id: string): Promise<void> {
    await this.#storage.write((tx) => tx.delete(filterKey(id)))
    this.invalidate()
  }

  /**
   * A mount is unmounted or moved: its path leaves every rule, so that what is mounted there next starts unfiltered.
   * Called before the mount's entry goes, while its uuid can still be judged. `isGone`: unmounted, its data deleted.
   */
  async dropPath(mount: Pick<MountFact, 'path' | 'uuid'>, isGone: boolean): Promise<void> {
    const ids = await this.#storage.list(PREFIX)
    const held = new Set(ids.filter((id) => this.compiled(id)?.heldMounts.has(mount.uuid)))
    const concerned = ids.filter((id) => held.has(id) || this.find(id)?.paths.includes(mount.path))
    if (concerned.length === 0) return
    await this.#storage.write((tx) => {
      for (const id of concerned) this.#dropFrom(tx, id, mount, isGone && held.has(id))
    })
    this.invalidate()
  }

  #dropFrom(tx: Transaction, id: string, mount: Pick<MountFact, 'path' | 'uuid'>, isRetired: boolean): void {
    const record = readJson<FilterRecord>(tx, filterKey(id))
    if (!record) return
    const retired = record.retired ?? []
    putJson(tx, filterKey(id), {
      mode: record.mode,
      paths: record.paths.filter((path) => path !== mount.path),
      retired: isRetired ? [...retired, mount.uuid].slice(-RETIRED_MAX) : retired,
    } satisfies FilterRecord)
  }

  /** A filter, a mount or a namespace changed: all rules are compiled anew when next asked for. */
  invalidate(): void {
    this.#compiled.clear()
  }

  #read(id: string): FilterRecord | undefined {
    return readJson<FilterRecord>(this.#storage, filterKey(id))
  }
}
