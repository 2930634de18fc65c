import { NOT_PRINTABLE } from '../../base/printable.js'
import { base62, uuid } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import type { BackendType } from '../../logical/backend.js'
import { invalid, isReadOnly } from '../../logical/errors.js'
import type { JsonValue } from '../../logical/json.js'
import type { NamespaceRef } from '../../logical/request.js'
import { putJson } from '../../logical/storage.js'
import type { LeaseTtls } from '../../logical/ttl.js'
import { applyMountConfig } from './mount-config.js'
import {
  dataPrefix,
  DEFAULT_CONFIG,
  defaultMounts,
  effectiveLeaseTtls,
  localDataPrefix,
  type MountEntry,
  type MountKind,
  routePath,
  SINGLETON_TYPES,
} from './mount-entry.js'
import type { MountTable } from './mount-table.js'
import { type MountCleanup, cleanupKey } from './cleanup.js'

interface MountParameters
  extends Pick<MountEntry, 'type' | 'description' | 'options' | 'isLocal' | 'sealWrap' | 'externalEntropyAccess'> {
  readonly config: { readonly [key: string]: JsonValue }
}

interface MountServiceOptions {
  readonly table: MountTable
  readonly types: ReadonlyMap<string, BackendType>
  readonly cleanup: MountCleanup
  readonly leaseDefaults: LeaseTtls
  readonly revokeTokens: (namespaceId: string, prefix: string) => Promise<void>
  /**
   * Revokes the secrets of a mount and then runs `change`, which moves or removes the mount. Rejects with LogicalError
   * 400 if a secret cannot be revoked.
   */
  readonly withoutLeases: <T>(entry: MountEntry, change: () => Promise<T>) => Promise<T>
  readonly random: Random
}

const TYPE_ALIASES: Readonly<Record<string, { type: string; version?: string }>> = {
  'kv-v1': { type: 'kv', version: '1' },
  'kv-v2': { type: 'kv', version: '2' },
}

/** Paths below which no secrets engine can be mounted, because they belong to the API itself. */
const RESERVED = ['auth/', 'sys/', 'cubbyhole/']

export class MountService {
  readonly #options: MountServiceOptions

  constructor(options: MountServiceOptions) {
    this.#options = options
  }

  async enable(kind: MountKind, namespace: NamespaceRef, path: string, input: MountParameters): Promise<MountEntry> {
    if (input.type === '') throw invalid('backend type must be specified as a string')
    requireCleanPath(path)
    refuseReserved(kind, path)
    const alias = TYPE_ALIASES[input.type]
    const type = alias?.type ?? input.type
    this.#refuseType(kind, type, input.type)
    const options = alias?.version ? { ...input.options, version: alias.version } : input.options
    refuseVersion(type, options)
    const config = applyMountConfig(DEFAULT_CONFIG, input.config, kind, type)
    if (config.maxLeaseTtlSeconds > 0 && config.defaultLeaseTtlSeconds > config.maxLeaseTtlSeconds) {
      throw invalid('given default lease TTL greater than given max lease TTL')
    }
    const entry: MountEntry = {
      uuid: uuid(this.#options.random),
      accessor: this.#newAccessor(kind === 'auth' ? `auth_${type}` : type),
      kind,
      path,
      namespaceId: namespace.id,
      type,
      description: input.description,
      isLocal: input.isLocal,
      sealWrap: input.sealWrap,
      externalEntropyAccess: input.externalEntropyAccess,
      options: options && Object.keys(options).length > 0 ? options : null,
      config: kind === 'auth' ? { tokenType: 'default-service', ...config } : config,
    }
    await this.#options.table.add([entry])
    return entry
  }

  /**
   * Removes a mount with its leases and data. Does nothing if the mount does not exist. Rejects with LogicalError 400
   * for a mount that cannot be removed.
   */
  async disable(kind: MountKind, namespace: NamespaceRef, path: string): Promise<void> {
    if (kind === 'auth' && path === 'token/') throw invalid('token credential backend cannot be disabled')
    const entry = this.#options.table.find(kind, namespace.id, path)
    if (!entry) return
    if (SINGLETON_TYPES.has(entry.type)) throw invalid(`cannot unmount "${path}"`)
    await this.discard(entry)
  }

  /** Removes any mount, including the built-in ones of a namespace. */
  async discard(entry: MountEntry): Promise<void> {
    const { table, cleanup, revokeTokens, withoutLeases } = this.#options
    // Removes the row and marks the data for deletion in one transaction, so that a crash leaves no orphaned data.
    await withoutLeases(entry, () =>
      table.remove(entry, (tx) =>
        putJson(tx, cleanupKey(entry), { prefixes: [...new Set([dataPrefix(entry), localDataPrefix(entry)])] }),
      ),
    )
    await revokeTokens(entry.namespaceId, routePath(entry))
    await cleanup.run(cleanupKey(entry))
  }

  /** Creates the missing built-in mounts of a namespace. Skips mounts whose entries this cluster cannot write. */
  async ensureDefaults(namespace: NamespaceRef): Promise<void> {
    const { table, random } = this.#options
    const wanted = defaultMounts(
      namespace,
      () => uuid(random),
      (prefix) => this.#newAccessor(prefix),
    )
    for (const isLocal of [false, true]) {
      const missing = wanted.filter(
        (entry) => entry.isLocal === isLocal && !table.find(entry.kind, namespace.id, entry.path),
      )
      if (missing.length === 0) continue
      await table.add(missing).catch((error: unknown) => {
        // The replicated entries of a secondary arrive from its primary. A DR secondary also receives the local
        // entries.
        if (!isReadOnly(error)) throw error
      })
    }
  }

  async tune(
    entry: MountEntry,
    input: { readonly [key: string]: JsonValue },
    description?: string,
  ): Promise<MountEntry> {
    return this.#options.table.update(entry, (current) => {
      const config = applyMountConfig(current.config, input, current.kind, current.type)
      const named = ['default_lease_ttl', 'max_lease_ttl'].some((name) => input[name] !== undefined)
      const { defaultLeaseTtlSeconds, maxLeaseTtlSeconds } = config
      const max = maxLeaseTtlSeconds || this.#options.leaseDefaults.maxLeaseTtlSeconds
      if (named && defaultLeaseTtlSeconds > max) {
        throw invalid(
          `backend max lease TTL of ${max} would be less than backend default lease TTL of ${defaultLeaseTtlSeconds}`,
        )
      }
      return { ...current, config, ...(description === undefined ? {} : { description }) }
    })
  }

  async setOptions(entry: MountEntry, options: Readonly<Record<string, string>>): Promise<MountEntry> {
    return this.#options.table.update(entry, (current) => ({ ...current, options: { ...current.options, ...options } }))
  }

  /** Moves a mount to another path and revokes the leases of the old path. */
  async remount(entry: MountEntry, path: string): Promise<void> {
    requireCleanPath(path, 'invalid destination mount: ')
    // Checks for conflicts before reserved paths, so that the error names an existing mount. With an empty UUID, the
    // moved mount itself counts as a conflict.
    const errorOf = (taken: string) => invalid(`path already in use at ${JSON.stringify(taken)}`)
    this.#options.table.refuseTaken({ ...entry, path, uuid: '' }, errorOf)
    refuseReserved(entry.kind, path)
    await this.#options.revokeTokens(entry.namespaceId, routePath(entry))
    await this.#options.withoutLeases(entry, () =>
      this.#options.table.update(entry, (current) => ({ ...current, path })),
    )
  }

  effectiveTtls(entry: MountEntry): LeaseTtls {
    return effectiveLeaseTtls(entry.config, this.#options.leaseDefaults)
  }

  #newAccessor(prefix: string): string {
    return `${prefix}_${this.#options.random.bytes(4).toString('hex')}`
  }

  #refuseType(kind: MountKind, type: string, given: string): void {
    if (type === 'token') throw invalid('token credential backend cannot be instantiated')
    if (SINGLETON_TYPES.has(type)) throw invalid(`mount type of "${type}" is not mountable`)
    if (this.#options.types.get(type)?.kind !== kind) throw invalid(`plugin not found in the catalog: ${given}`)
  }
}

/**
 * Throws 400 for a path that no request can reach: with empty or dot segments, or unprintable characters. The error
 * text starts with `what`.
 */
export const requireCleanPath = (path: string, what = ''): void => {
  const inner = path.replace(/\/$/, '').split('/')
  const clean = `${inner.filter((part) => part !== '' && part !== '.' && part !== '..').join('/')}/`
  if (path !== '/' && path !== clean)
    throw invalid(`${what}path ${JSON.stringify(path)} does not match cleaned path ${JSON.stringify(clean)}`)
  if (NOT_PRINTABLE.test(path)) throw invalid(`${what}path cannot contain non-printable characters`)
}

const refuseReserved = (kind: MountKind, path: string): void => {
  if (path === '' || path === '/' || (kind === 'secret' && RESERVED.some((reserved) => path.startsWith(reserved)))) {
    throw invalid(`cannot mount "${path}"`)
  }
}

const refuseVersion = (type: string, options: Readonly<Record<string, string>> | null): void => {
  const version = options?.version
  if (type === 'kv' && version !== undefined && !['', '1', '2'].includes(version)) {
    throw invalid(`"${version}" is not a version of the key-value engine: use 1 or 2`)
  }
}

/** Returns a random namespace ID of five letters and digits. */
export const newNamespaceId = (random: Random): string => base62(random, 5)
