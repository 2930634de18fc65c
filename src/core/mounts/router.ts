import type { Backend, BackendContext, BackendType, MountView } from '../../logical/backend.js'
import { LogicalError } from '../../logical/errors.js'
import { type PathRules, rulesOf } from '../../logical/path-rules.js'
import { type NamespaceRef, type Request, ROOT_NAMESPACE } from '../../logical/request.js'
import type { Storage } from '../../logical/storage.js'
import type { LeaseTtls } from '../../logical/ttl.js'
import {
  dataPrefix,
  defaultMounts,
  effectiveLeaseTtls,
  localDataPrefix,
  type MountEntry,
  routePath,
} from './mount-entry.js'
import type { MountTable } from './mount-table.js'
import type { NamespaceStore } from '../namespaces/namespaces.js'
import { findMountOf } from '../../storage/keys/key-families.js'

/** A mount that handles requests. Tuning the mount replaces `entry`. */
export interface OpenMount {
  entry: MountEntry
  readonly namespace: NamespaceRef
  readonly backend: Backend
  readonly view: MountView
  readonly storage: Storage
  readonly close: () => Promise<void>
}

export interface Route {
  readonly mount: OpenMount
  /** The path relative to the mount. */
  readonly path: string
  readonly rules: PathRules
}

const routeTo = (mount: OpenMount, path: string): Route => ({ mount, path, rules: rulesOf(mount.backend.rules, path) })

interface RouterOptions extends Pick<BackendContext, 'clock' | 'random' | 'log' | 'resolveTemplate'> {
  readonly table: MountTable
  readonly namespaces: NamespaceStore
  readonly types: ReadonlyMap<string, BackendType>
  /** The backends of types that have one backend for all mounts, by type: system, token, identity, cubbyhole. */
  readonly singletons: ReadonlyMap<string, Backend>
  readonly storageAt: (prefix: string) => Storage
  readonly leaseDefaults: LeaseTtls
  /** Returns true if this node cannot write the data of the mount. */
  readonly isReadOnly: (mount: Pick<MountEntry, 'isLocal'>) => boolean
  readonly presenceOf: (entry: MountEntry) => Presence
  readonly worksInBackground: boolean
}

/**
 * Whether this cluster has the data of a mount. `filtered`: a paths filter excludes it. `arriving`: a filter was
 * removed, and the data is still replicating. `stranded`: a filter was removed, but this cluster has no primary that
 * could send the data.
 */
export type Presence = 'here' | 'filtered' | 'arriving' | 'stranded'

const SYSTEM_PATH = 'sys/'
const BARE_SYSTEM = defaultMounts(
  ROOT_NAMESPACE,
  () => '',
  () => '',
).find(({ path }) => path === SYSTEM_PATH)
const NO_MOUNTS: ReadonlyMap<string, OpenMount> = new Map()

/**
 * Finds the backend of a path. Mount paths never overlap within a namespace and table, so the first matching prefix of
 * whole segments is the mount. The router opens and closes backends when the table changes.
 */
export class Router {
  readonly #options: RouterOptions
  readonly #byUuid = new Map<string, OpenMount>()
  /** Mounts by namespace ID, then by route path. */
  readonly #index = new Map<string, Map<string, OpenMount>>()
  readonly #closing = new Set<Promise<void>>()
  /** Replicated mounts that a local mount at the same path hides. */
  #hidden: ReadonlySet<OpenMount> = new Set()
  /** The length of the longest route path so far. */
  #longest = SYSTEM_PATH.length
  #isClosing = false
  #bareSystem: OpenMount | undefined

  constructor(options: RouterOptions) {
    this.#options = options
    options.table.onChange(({ before, after }) => this.#follow(before, after))
  }

  /** Opens every mount of the table, or those of one namespace. */
  openAll(namespaceId?: string): void {
    const isIncluded = (entry: MountEntry) => namespaceId === undefined || entry.namespaceId === namespaceId
    for (const entry of this.#options.table.all()) if (isIncluded(entry)) this.#follow(undefined, entry)
  }

  async closeAll(): Promise<void> {
    this.#isClosing = true
    for (const mount of this.#byUuid.values()) this.#close(mount)
    await Promise.all(this.#closing)
  }

  find(namespace: NamespaceRef, path: string): Route | undefined {
    const index = this.#index.get(namespace.id) ?? NO_MOUNTS
    // Stops at the longest route, so that a path with thousands of segments does not cause thousands of lookups.
    for (let slash = path.indexOf('/'); slash >= 0 && slash < this.#longest; slash = path.indexOf('/', slash + 1)) {
      const mount = index.get(path.slice(0, slash + 1))
      if (mount) return routeTo(mount, path.slice(slash + 1))
    }
    // The path of a LIST of the mount itself may lack the trailing slash.
    const whole = index.get(`${path}/`)
    return whole ? routeTo(whole, '') : this.#findBareSystem(namespace, path)
  }

  /**
   * Returns a route to the system backend without using the mount table. A new secondary has an empty table until its
   * first full sync, which may never complete. Until then it must still report its status and accept commands.
   */
  #findBareSystem(namespace: NamespaceRef, path: string): Route | undefined {
    if (namespace.id !== ROOT_NAMESPACE.id || !path.startsWith(SYSTEM_PATH)) return undefined
    if (BARE_SYSTEM) this.#bareSystem ??= this.#open(BARE_SYSTEM)
    return this.#bareSystem && routeTo(this.#bareSystem, path.slice(SYSTEM_PATH.length))
  }

  findByAccessor(accessor: string): OpenMount | undefined {
    for (const mount of this.#byUuid.values()) if (mount.entry.accessor === accessor) return mount
    return undefined
  }

  findByUuid(uuid: string): OpenMount | undefined {
    return this.#byUuid.get(uuid)
  }

  /** Returns true if a paths filter hides the mount from this cluster, or from the cluster that sent the request. */
  isFiltered(entry: MountEntry, { visibility }: Pick<Request, 'visibility'>): boolean {
    return this.#options.presenceOf(entry) === 'filtered' || (visibility?.isFiltered(entry.uuid) ?? false)
  }

  /** Throws LogicalError: 404 if the caller may not see the mount, 503 if this cluster lacks data of the mount. */
  requirePresent(entry: MountEntry, request: Pick<Request, 'visibility'>, path: string): void {
    if (this.isFiltered(entry, request)) {
      const text = `no handler for route "${path}". route entry found, but backend is nil.`
      throw new LogicalError('not-found', text)
    }
    const presence = this.#options.presenceOf(entry)
    if (presence === 'here') return
    const data = `the data of "${routePath(entry)}"`
    if (presence === 'arriving') throw new LogicalError('unavailable', `${data} is still replicating to this cluster`)
    throw new LogicalError('unavailable', `${data} has not replicated to this cluster, which has no primary`)
  }

  all(): OpenMount[] {
    return [...this.#byUuid.values()]
  }

  /** Notifies the backend of a changed key of its data. */
  invalidate(key: string): void {
    const found = findMountOf(key)
    if (found) this.#byUuid.get(found.uuid)?.backend.invalidate?.(found.rest)
  }

  #follow(before: MountEntry | undefined, after: MountEntry | undefined): void {
    const open = this.#byUuid.get((after ?? before)?.uuid ?? '')
    if (!after) {
      if (open) this.#close(open)
      return
    }
    const isSame = open && open.entry.path === after.path && sameOptions(open.entry, after)
    if (isSame) {
      open.entry = after
      return
    }
    if (open) this.#close(open)
    const mount = this.#open(after)
    if (!mount) return
    this.#byUuid.set(after.uuid, mount)
    this.#reindex(after.namespaceId)
  }

  #open(entry: MountEntry): OpenMount | undefined {
    const { types, singletons, namespaces, storageAt, clock, random, log } = this.#options
    const namespace = namespaces.findById(entry.namespaceId)
    if (!namespace) return undefined
    const view = this.#view(entry.uuid, entry, namespace)
    const storage = storageAt(dataPrefix(entry))
    const singleton = singletons.get(entry.type)
    if (singleton) return { entry, namespace, backend: singleton, view, storage, close: async () => {} }
    const type = types.get(entry.type)
    if (!type) {
      log.error('a mount has an unknown type', { type: entry.type, path: entry.path })
      return undefined
    }
    const backend = type.factory({
      storage,
      localStorage: storageAt(localDataPrefix(entry)),
      mount: view,
      clock,
      random,
      log: log.with({ mount: routePath(entry) }),
      isReadOnly: () => this.#options.isReadOnly(entry),
      resolveTemplate: this.#options.resolveTemplate,
    })
    const stop = new AbortController()
    if (this.#options.worksInBackground) backend.start?.(stop.signal)
    const close = async () => {
      stop.abort()
      await backend.stop?.()
    }
    return { entry, namespace, backend, view, storage, close }
  }

  #view(uuid: string, first: MountEntry, namespace: NamespaceRef): MountView {
    const current = () => this.#byUuid.get(uuid)?.entry ?? first
    const ttls = () => effectiveLeaseTtls(current().config, this.#options.leaseDefaults)
    return {
      accessor: first.accessor,
      uuid,
      path: routePath(first),
      namespace,
      isLocal: first.isLocal,
      get defaultLeaseTtlSeconds() {
        return ttls().defaultLeaseTtlSeconds
      },
      get maxLeaseTtlSeconds() {
        return ttls().maxLeaseTtlSeconds
      },
      get options() {
        return current().options ?? {}
      },
      get userLockout() {
        return current().config.userLockout
      },
    }
  }

  #close(mount: OpenMount): void {
    this.#byUuid.delete(mount.entry.uuid)
    this.#reindex(mount.entry.namespaceId)
    const closing: Promise<void> = mount
      .close()
      .catch((error: unknown) => this.#options.log.error('a backend did not stop cleanly', { error }))
      .finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  #reindex(namespaceId: string): void {
    const index = new Map<string, OpenMount>()
    for (const mount of this.#byUuid.values()) {
      if (mount.entry.namespaceId !== namespaceId) continue
      const path = routePath(mount.entry)
      // A local mount keeps its path when a replicated mount of the same name arrives.
      if (!index.has(path) || mount.entry.isLocal) index.set(path, mount)
      this.#longest = Math.max(this.#longest, path.length)
    }
    this.#index.set(namespaceId, index)
    this.#logHidden()
  }

  #logHidden(): void {
    if (this.#isClosing) return
    const isIndexed = (mount: OpenMount) =>
      this.#index.get(mount.entry.namespaceId)?.get(routePath(mount.entry)) === mount
    const hidden = new Set([...this.#byUuid.values()].filter((mount) => !isIndexed(mount)))
    const fields = ({ entry }: OpenMount) => ({ path: routePath(entry), accessor: entry.accessor })
    for (const mount of hidden) {
      if (!this.#hidden.has(mount)) this.#options.log.warn('a local mount hides a replicated mount', fields(mount))
    }
    for (const mount of this.#hidden) {
      if (this.#byUuid.get(mount.entry.uuid) === mount && !hidden.has(mount))
        this.#options.log.info('a replicated mount is visible again after the removal of a local mount', fields(mount))
    }
    this.#hidden = hidden
  }
}

const sameOptions = (a: MountEntry, b: MountEntry): boolean =>
  JSON.stringify(a.options ?? {}) === JSON.stringify(b.options ?? {})
