import type { Clock } from '../../base/clock.js'
import { uuid } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import { LogicalError, permissionDenied } from '../../logical/errors.js'
import type { ReadStorage, Storage, Transaction } from '../../logical/storage.js'
import { lowerNames } from '../../logical/token-fields.js'
import { followKey, IDENTITY_KEYS, readEntity, replaceEntity } from './identity-record.js'
import type { AliasFactors, Entity, EntityAlias } from '../../logical/identity.js'
import { RecentCache } from '../../base/recent-cache.js'

interface AliasQuery extends AliasFactors {
  readonly metadata: Readonly<Record<string, string>>
}

interface IdentityStoreOptions {
  /** The storage of the keys below `sys/identity/`. */
  readonly storage: Storage
  readonly random: Random
  readonly clock: Clock
  /**
   * Called if this node lacks the entity of a token. Without this option, a missing entity counts as deleted, unless
   * `expect` announced the entity.
   */
  readonly onAbsent?: (() => never) | undefined
}

const CACHED_ENTITIES = 10_000

/** Policies that an entity never adds to its tokens, even if its record lists them. */
const NEVER_GIVEN: ReadonlySet<string> = new Set(['root', 'response-wrapping'])

/**
 * The entities of logins. The first login with a namespace, mount and alias name creates an entity, which replicates to
 * all clusters of the replication set. Only a cluster that can write replicated data creates entities.
 */
export class IdentityStore {
  readonly #options: IdentityStoreOptions
  readonly #entities = new RecentCache<Entity>(CACHED_ENTITIES)
  /** Entity IDs by storage key of the alias. */
  readonly #aliases = new RecentCache<string>(CACHED_ENTITIES)
  /**
   * Entities announced by `expect`, by entity ID. If the cache evicts an entry, tokens of the entity are rejected until
   * the entity has replicated.
   */
  readonly #expected = new RecentCache<() => boolean>(CACHED_ENTITIES)

  constructor(options: IdentityStoreOptions) {
    this.#options = options
  }

  findEntity(id: string): Entity | undefined {
    if (id === '') return undefined
    const known = this.#entities.get(id)
    if (known) return known
    const entity = readEntity(this.#options.storage, id)
    if (entity) this.#entities.set(id, entity)
    return entity
  }

  findByAlias(factors: AliasFactors): Entity | undefined {
    const key = IDENTITY_KEYS.alias(factors)
    const known = this.#aliases.get(key)
    if (known !== undefined) return this.findEntity(known)
    const entity = followKey(this.#options.storage, key)
    if (entity) this.#aliases.set(key, entity.id)
    return entity && this.findEntity(entity.id)
  }

  findByName(namespaceId: string, name: string): Entity | undefined {
    return followKey(this.#options.storage, IDENTITY_KEYS.name(namespaceId, name))
  }

  findByAliasId(id: string): Entity | undefined {
    return followKey(this.#options.storage, IDENTITY_KEYS.aliasId(id))
  }

  /** Returns the entities of a namespace, unordered. */
  async list(namespaceId: string): Promise<Entity[]> {
    const keys = await this.#options.storage.keys(IDENTITY_KEYS.names(namespaceId))
    return keys.map((key) => followKey(this.#options.storage, key)).filter((entity) => entity !== undefined)
  }

  /** Returns the number of entities in all namespaces. */
  async count(): Promise<number> {
    return (await this.#options.storage.keys(IDENTITY_KEYS.entities)).length
  }

  /**
   * Returns the policies that the entity adds to a token, sorted. Returns none if entity and token are in different
   * namespaces.
   */
  policiesOf(token: { readonly entityId: string; readonly namespace: { readonly id: string } }): string[] {
    const entity = this.findEntity(token.entityId)
    if (!entity?.policies || entity.namespaceId !== token.namespace.id) return []
    return lowerNames(entity.policies).filter((name) => !NEVER_GIVEN.has(name))
  }

  /** Returns true if the entity of a token is disabled or deleted. Such a token is rejected, but not revoked. */
  refuses({ entityId }: { readonly entityId: string }): boolean {
    if (entityId === '') return false
    const entity = this.findEntity(entityId)
    if (!entity) this.#options.onAbsent?.()
    return entity ? entity.isDisabled : this.#expected.get(entityId)?.() !== true
  }

  /**
   * Announces an entity that replication will deliver. While `isReplicating` returns true, tokens of the entity are
   * valid although the entity is missing.
   */
  expect(entityId: string, isReplicating: () => boolean): void {
    if (entityId !== '' && isReplicating()) this.#expected.set(entityId, isReplicating)
  }

  /**
   * Finds or creates the entity of an alias, and updates the alias metadata. Rejects with LogicalError 403 for a
   * disabled entity. If this cluster cannot write replicated data, a missing entity causes LogicalError `read-only`,
   * and changed metadata is not stored. Known users can therefore log in while the primary is unreachable.
   */
  async findOrCreate(query: AliasQuery): Promise<Entity> {
    const entity = await this.#findOrCreate(query)
    if (entity.isDisabled) throw permissionDenied()
    return entity
  }

  write<T>(change: (tx: Transaction) => T): Promise<T> {
    return this.#options.storage.write(change)
  }

  async removeNamespace(namespaceId: string): Promise<void> {
    for (const { id } of await this.list(namespaceId)) {
      await this.write((tx) => replaceEntity(tx, readEntity(tx, id), undefined))
    }
  }

  /** Discards cached data of a changed key below `sys/identity/`. */
  invalidate(key: string): void {
    if (key.startsWith(IDENTITY_KEYS.entities)) {
      const id = key.slice(IDENTITY_KEYS.entities.length)
      this.#entities.delete(id)
      this.#expected.delete(id)
    } else this.#aliases.delete(key)
  }

  /** Returns a new entity that has only an ID and a name. If no name is given, generates an unused name. */
  newEntity(reader: ReadStorage, namespaceId: string, name?: string): Entity {
    const createdAtMs = this.#options.clock.now()
    return {
      id: uuid(this.#options.random),
      name: name ?? this.#freeName(reader, namespaceId),
      metadata: {},
      policies: null,
      isDisabled: false,
      aliases: [],
      namespaceId,
      createdAtMs,
      updatedAtMs: createdAtMs,
    }
  }

  newAlias(fields: Pick<EntityAlias, 'mountAccessor' | 'name' | 'metadata' | 'customMetadata'>): EntityAlias {
    const createdAtMs = this.#options.clock.now()
    return { id: uuid(this.#options.random), ...fields, createdAtMs, updatedAtMs: createdAtMs }
  }

  async #findOrCreate(query: AliasQuery): Promise<Entity> {
    const found = this.findByAlias(query)
    if (found && hasMetadata(found, query)) return found
    try {
      return await this.#put(query)
    } catch (error) {
      if (found && error instanceof LogicalError && error.code === 'read-only') return found
      throw error
    }
  }

  #put(query: AliasQuery): Promise<Entity> {
    return this.write((tx) => {
      const before = followKey(tx, IDENTITY_KEYS.alias(query))
      const after = this.#withAlias(before ?? this.newEntity(tx, query.namespaceId), query)
      replaceEntity(tx, before, after)
      return after
    })
  }

  #withAlias(entity: Entity, query: AliasQuery): Entity {
    const { mountAccessor, name, metadata } = query
    const known = entity.aliases.find((alias) => isAlias(alias, query))
    if (!known) {
      const alias = this.newAlias({ mountAccessor, name, metadata, customMetadata: {} })
      return { ...entity, aliases: [...entity.aliases, alias] }
    }
    const updated = { ...known, metadata, updatedAtMs: this.#options.clock.now() }
    return { ...entity, aliases: entity.aliases.map((alias) => (alias === known ? updated : alias)) }
  }

  #freeName(reader: ReadStorage, namespaceId: string): string {
    for (;;) {
      const name = `entity_${this.#options.random.bytes(4).toString('hex')}`
      if (!followKey(reader, IDENTITY_KEYS.name(namespaceId, name))) return name
    }
  }
}

export const isAlias = (alias: EntityAlias, factors: Pick<AliasFactors, 'mountAccessor' | 'name'>): boolean =>
  alias.mountAccessor === factors.mountAccessor && alias.name === factors.name

const hasMetadata = (entity: Entity, query: AliasQuery): boolean => {
  const current = entity.aliases.find((alias) => isAlias(alias, query))?.metadata
  if (current === undefined) return false
  const names = Object.keys(query.metadata)
  return (
    names.length === Object.keys(current).length &&
    names.every((name) => Object.hasOwn(current, name) && current[name] === query.metadata[name])
  )
}
