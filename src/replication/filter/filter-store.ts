import { LIMITS } from '../../base/limits.js'
import { sha256Hex } from '../../crypto/digest.js'
import type { Transaction } from '../../logical/storage.js'
import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { type CompiledFilter, compileFilter, type FilterRule, type MountFact, type NamespaceFact } from './filter.js'

/** As stored, below one key per secondary id. */
interface FilterRecord extends FilterRule {
  /** Mounts that were held back when they were unmounted: their deletions are never to be shipped. */
  readonly retired?: readonly string[]
  /** How many mounts were moved while they were held back: what they hold is to be shown now, under an equal rule. */
  readonly moved?: number
}

const PREFIX = 'core/filters/'
const RETIRED_MAX = 1000
const REMEMBERED_MAX = 2 * LIMITS.secondariesMax

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
  readonly #records = new Map<string, FilterRecord | undefined>()
  readonly #compiled = new Map<string, { readonly facts: string; readonly filter: CompiledFilter }>()

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

  /** Of the rule and of what happened to its mounts; empty without a rule. Equal digests ask for equal data. */
  digest(id: string): string {
    const record = this.#read(id)
    return record ? sha256Hex(JSON.stringify([record.mode, record.paths, record.retired ?? [], record.moved ?? 0])) : ''
  }

  /**
   * The rule against the mounts and namespaces as they are. A mount that was held back and has just gone stays held back,
   * for its data is deleted key by key after it.
   */
  compiled(id: string): CompiledFilter | undefined {
    const record = this.#read(id)
    if (!record) return undefined
    const known = this.#compiled.get(id)
    const facts = this.#facts()
    if (known?.facts === facts) return known.filter
    const retired = [...(record.retired ?? []), ...(known?.filter.heldMounts ?? [])]
    const filter = compileFilter(record, this.#mounts(), this.#namespaces(), retired)
    this.#compiled.set(id, { facts, filter })
    return filter
  }

  /** Equal as long as no mount and no namespace came, went or moved. */
  #facts(): string {
    const mounts = this.#mounts().map((mount) => `${mount.uuid} ${mount.path}`)
    return [...mounts, '', ...this.#namespaces().map((namespace) => namespace.path)].join('\n')
  }

  /** Replaces the whole rule. */
  async put(id: string, rule: FilterRule): Promise<void> {
    await this.#storage.write((tx) => {
      const { retired = [], moved = 0 } = readJson<FilterRecord>(tx, filterKey(id)) ?? {}
      putJson(tx, filterKey(id), { ...rule, retired, moved } satisfies FilterRecord)
    })
    this.invalidate()
  }

  async delete(id: string): Promise<void> {
    await this.#storage.write((tx) => tx.delete(filterKey(id)))
    this.invalidate()
  }

  /**
   * A mount was unmounted or moved: its path leaves every rule, so that what is mounted there next starts unfiltered.
   * `isGone`: unmounted, its data deleted. Resolves to whether any rule changed.
   */
  async dropPath(mount: MountFact, isGone: boolean): Promise<boolean> {
    const ids = await this.#storage.list(PREFIX)
    const holds = (rule: FilterRule) => compileFilter(rule, [mount], this.#namespaces()).heldMounts.has(mount.uuid)
    const held = new Set(
      ids.filter((id) => {
        const rule = this.find(id)
        return rule !== undefined && holds(rule)
      }),
    )
    const concerned = ids.filter((id) => held.has(id) || this.find(id)?.paths.includes(mount.path))
    if (concerned.length === 0) return false
    await this.#storage.write((tx) => {
      for (const id of concerned) this.#dropFrom(tx, id, mount, held.has(id) ? (isGone ? 'retired' : 'moved') : 'shown')
    })
    this.invalidate()
    return true
  }

  #dropFrom(tx: Transaction, id: string, mount: MountFact, fate: 'retired' | 'moved' | 'shown'): void {
    const record = readJson<FilterRecord>(tx, filterKey(id))
    if (!record) return
    const { retired = [], moved = 0 } = record
    putJson(tx, filterKey(id), {
      mode: record.mode,
      paths: record.paths.filter((path) => path !== mount.path),
      retired: fate === 'retired' ? [...retired, mount.uuid].slice(-RETIRED_MAX) : retired,
      moved: fate === 'moved' ? moved + 1 : moved,
    } satisfies FilterRecord)
  }

  /** A filter's record changed: all rules are compiled anew when next asked for. */
  invalidate(): void {
    this.#records.clear()
    this.#compiled.clear()
  }

  /** Asked for with every request on a secondary, so it is remembered, and that there is none as well. */
  #read(id: string): FilterRecord | undefined {
    if (this.#records.size > REMEMBERED_MAX) this.#records.clear()
    if (!this.#records.has(id)) this.#records.set(id, readJson<FilterRecord>(this.#storage, filterKey(id)))
    return this.#records.get(id)
  }
}
