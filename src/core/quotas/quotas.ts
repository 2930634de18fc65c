/**
 * The quotas of the cluster and the settings of all quotas, in memory. The storage keys are `config` and
 * `<kind>/<name>`.
 */
import { LIMITS } from '../../base/limits.js'
import { invalid } from '../../logical/errors.js'
import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { type MountEntry, routePath } from '../mounts/mount-entry.js'
import type { MountTable } from '../mounts/mount-table.js'
import type { NamespaceStore } from '../namespaces/namespaces.js'
import { QuotaIndex } from './quota-index.js'
import {
  DEFAULT_QUOTA_CONFIG,
  type QuotaConfig,
  type QuotaKind,
  type QuotaKinds,
  type QuotaTarget,
} from './quota-record.js'

interface QuotasOptions {
  /** Contains the keys below `sys/quotas/`. */
  readonly storage: Storage
  readonly namespaces: Pick<NamespaceStore, 'find' | 'findById'>
  readonly table: Pick<MountTable, 'all'>
}

type Shelf<K extends QuotaKind> = {
  readonly byName: Map<string, QuotaKinds[K]>
  readonly index: QuotaIndex<QuotaKinds[K]>
}

const CONFIG = 'config'

export class Quotas {
  readonly #options: QuotasOptions
  readonly #shelves: { readonly [K in QuotaKind]: Shelf<K> }
  #config = DEFAULT_QUOTA_CONFIG
  #version = 0

  constructor(options: QuotasOptions) {
    this.#options = options
    const { namespaces } = options
    const shelf = <K extends QuotaKind>(): Shelf<K> => ({
      byName: new Map(),
      index: new QuotaIndex((path) => namespaces.find(path)),
    })
    this.#shelves = { 'rate-limit': shelf(), 'lease-count': shelf() }
  }

  get config(): QuotaConfig {
    return this.#config
  }

  /** Changes with each change of a quota. */
  get version(): number {
    return this.#version
  }

  async load(): Promise<void> {
    for (const key of await this.#options.storage.keys('')) this.refresh(key)
  }

  /** Rereads the record of a changed key. */
  refresh(key: string): void {
    this.#version++
    const { storage } = this.#options
    if (key === CONFIG) {
      this.#config = readJson<QuotaConfig>(storage, key) ?? DEFAULT_QUOTA_CONFIG
      return
    }
    const slash = key.indexOf('/')
    this.#refreshQuota(key.slice(0, slash) as QuotaKind, key.slice(slash + 1))
  }

  indexOf<K extends QuotaKind>(kind: K): QuotaIndex<QuotaKinds[K]> {
    return this.#shelves[kind].index
  }

  /** Returns the names of the quotas whose namespace and mount exist in this cluster, sorted. */
  list(kind: QuotaKind): string[] {
    return [...this.#shelves[kind].byName.values()]
      .filter((quota) => this.pathOf(quota) !== undefined)
      .map(({ name }) => name)
      .sort()
  }

  /** Finds a quota whose namespace and mount exist in this cluster. */
  find<K extends QuotaKind>(kind: K, name: string): QuotaKinds[K] | undefined {
    const quota = this.#shelves[kind].byName.get(name)
    return quota && this.pathOf(quota) !== undefined ? quota : undefined
  }

  /** Returns the path of a quota in the API; undefined if its namespace or its mount does not exist. */
  pathOf({ namespaceId, mountUuid, suffix }: QuotaTarget): string | undefined {
    const namespace = this.#options.namespaces.findById(namespaceId)
    if (!namespace || mountUuid === '') return namespace?.path
    const mount = this.#findMount(mountUuid)
    return mount && `${namespace.path}${routePath(mount)}${suffix}`
  }

  /** Stores a quota. Removes quotas of mounts and namespaces that no longer exist. Throws LogicalError 400. */
  async put<K extends QuotaKind>(kind: K, quota: QuotaKinds[K]): Promise<void> {
    const { byName } = this.#shelves[kind]
    const quotas = [...byName.values()]
    const same = quotas.find((other) => isSameTarget(other, quota) && other.name !== quota.name)
    if (same) throw invalid(`quota rule with similar properties exists under the name ${JSON.stringify(same.name)}`)
    if (!byName.has(quota.name) && byName.size >= LIMITS.quotasMax)
      throw invalid(`cannot create the quota: there are already ${LIMITS.quotasMax} quotas of this type`)
    const gone = quotas.filter((other) => this.pathOf(other) === undefined)
    await this.#options.storage.write((tx) => {
      for (const { name } of gone) tx.delete(`${kind}/${name}`)
      putJson(tx, `${kind}/${quota.name}`, quota)
    })
  }

  async remove(kind: QuotaKind, name: string): Promise<void> {
    await this.#options.storage.write((tx) => tx.delete(`${kind}/${name}`))
  }

  async configure(config: QuotaConfig): Promise<void> {
    await this.#options.storage.write((tx) => putJson(tx, CONFIG, config))
  }

  #refreshQuota<K extends QuotaKind>(kind: K, name: string): void {
    const { byName, index } = this.#shelves[kind]
    const before = byName.get(name)
    if (before) index.remove(before)
    const after = readJson<QuotaKinds[K]>(this.#options.storage, `${kind}/${name}`)
    if (after) {
      byName.set(name, after)
      index.add(after)
    } else byName.delete(name)
  }

  #findMount(uuid: string): MountEntry | undefined {
    return this.#options.table.all().find((entry) => entry.uuid === uuid)
  }
}

const isSameTarget = (one: QuotaTarget, other: QuotaTarget): boolean =>
  one.namespaceId === other.namespaceId &&
  one.mountUuid === other.mountUuid &&
  one.suffix === other.suffix &&
  one.role === other.role
