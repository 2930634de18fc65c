import type { Clock } from '../../base/clock.js'
import { uuid } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import { LogicalError, permissionDenied } from '../../logical/errors.js'
import type { ReadStorage, Storage, Transaction } from '../../logical/storage.js'
import { lowerNames } from '../../logical/token-fields.js'
import {
  type AliasFactors,
  type Entity,
  type EntityAlias,
  followKey,
  IDENTITY_KEYS,
  readEntity,
  replaceEntity,
} from './identity-record.js'
import { RecentCache } from '../../base/recent-cache.js'

interface AliasQuery extends AliasFactors {
  readonly metadata: Readonly<Record<string, string>>
}

const CACHED_ENTITIES = 10_000

/** Whatever a record says, no entity makes its tokens root. */
const NEVER_GIVEN: ReadonlySet<string> = new Set(['root', 'response-wrapping'])

/**
 * The entities of logins: one per namespace, mount and alias name, made at the first login and the same ever after, on
 * every cluster of the set. Entities are shared data, so only a cluster that may write shared data makes one.
 */
export class IdentityStore {
  readonly #storage: Storage
  readonly #random: Random
  readonly #clock: Clock
  readonly #entities = new RecentCache<Entity>(CACHED_ENTITIES)
  /** Entity ids by storage key of the alias. */
  readonly #aliases = new RecentCache<string>(CACHED_ENTITIES)
  /** By entity id. Where so many are under way that one is forgotten, its tokens are refused until it has come. */
  readonly #expected = new RecentCache<() => boolean>(CACHED_ENTITIES)

  /** Whether an entity that is not here counts as deleted. */
  readonly #isAbsent: (entityId: string) => boolean

  /** `storage`: view of `sys/identity/`. `onAbsent` may throw: it is asked about an entity of a token that is not here. */
  constructor(options: { storage: Storage; random: Random; clock: Clock; onAbsent?: (() => never) | undefined }) {
    const { onAbsent } = options
    this.#isAbsent = onAbsent ?? ((entityId) => this.#expected.get(entityId)?.() !== true)
    this.#storage = options.storage
    this.#random = options.random
    this.#clock = options.clock
  }

  findEntity(id: string): Entity | undefined {
    if (id === '') return undefined
    const known = this.#entities.get(id)
    if (known) return known
    const entity = readEntity(this.#storage, id)
    if (entity) this.#entities.set(id, entity)
    return entity
  }

  findByAlias(factors: AliasFactors): Entity | undefined {
    const key = IDENTITY_KEYS.alias(factors)
    const known = this.#aliases.get(key)
    if (known !== undefined) return this.findEntity(known)
    const entity = followKey(this.#storage, key)
    if (entity) this.#aliases.set(key, entity.id)
    return entity && this.findEntity(entity.id)
  }

  findByName(namespaceId: string, name: string): Entity | undefined {
    return followKey(this.#storage, IDENTITY_KEYS.name(namespaceId, name))
  }

  findByAliasId(id: string): Entity | undefined {
    return followKey(this.#storage, IDENTITY_KEYS.aliasId(id))
  }

  /** The entities of a namespace, in no order. */
  async list(namespaceId: string): Promise<Entity[]> {
    const keys = await this.#storage.keys(IDENTITY_KEYS.names(namespaceId))
    return keys.map((key) => followKey(this.#storage, key)).filter((entity) => entity !== undefined)
  }

  /** The number of entities, in all namespaces. */
  async count(): Promise<number> {
    return (await this.#storage.keys(IDENTITY_KEYS.entities)).length
  }

  /** The policies that the entity of a token adds to it, sorted; none where the two have different namespaces. */
  policiesOf(token: { readonly entityId: string; readonly namespace: { readonly id: string } }): string[] {
    const entity = this.findEntity(token.entityId)
    if (!entity?.policies || entity.namespaceId !== token.namespace.id) return []
    return lowerNames(entity.policies).filter((name) => !NEVER_GIVEN.has(name))
  }

  /** True for the tokens of an entity that was disabled or deleted: they are refused and not revoked. */
  refuses({ entityId }: { readonly entityId: string }): boolean {
    if (entityId === '') return false
    const entity = this.findEntity(entityId)
    return entity ? entity.isDisabled : this.#isAbsent(entityId)
  }

  /** Replication is to bring this entity: as long as `isUnderWay`, its absence refuses no token. */
  expect(entityId: string, isUnderWay: () => boolean): void {
    if (entityId !== '' && isUnderWay()) this.#expected.set(entityId, isUnderWay)
  }

  /**
   * The entity of the alias, made if there is none; the alias takes over the metadata. Throws LogicalError `read-only`
   * where it would have to be made and shared data cannot be written; new metadata alone is dropped there, so that who is
   * known can log in while the primary is away. Throws 403 for a disabled one.
   */
  async findOrCreate(query: AliasQuery): Promise<Entity> {
    const entity = await this.#findOrCreate(query)
    if (entity.isDisabled) throw permissionDenied()
    return entity
  }

  /** One transaction over entities. */
  write<T>(change: (tx: Transaction) => T): Promise<T> {
    return this.#storage.write(change)
  }

  /** Removes all entities of a namespace that goes away. */
  async removeNamespace(namespaceId: string): Promise<void> {
    for (const { id } of await this.list(namespaceId)) {
      await this.write((tx) => replaceEntity(tx, readEntity(tx, id), undefined))
    }
  }

  /** A key below `sys/identity/` has changed. */
  invalidate(key: string): void {
    if (key.startsWith(IDENTITY_KEYS.entities)) {
      const id = key.slice(IDENTITY_KEYS.entities.length)
      this.#entities.delete(id)
      this.#expected.delete(id)
    } else this.#aliases.delete(key)
  }

  /** An entity that only has an id and a name: the one given, or one that is free. */
  newEntity(reader: ReadStorage, namespaceId: string, name?: string): Entity {
    const createdAtMs = this.#clock.now()
    return {
      id: uuid(this.#random),
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
    const createdAtMs = this.#clock.now()
    return { id: uuid(this.#random), ...fields, createdAtMs, updatedAtMs: createdAtMs }
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
    const updated = { ...known, metadata, updatedAtMs: this.#clock.now() }
    return { ...entity, aliases: entity.aliases.map((alias) => (alias === known ? updated : alias)) }
  }

  #freeName(reader: ReadStorage, namespaceId: string): string {
    for (;;) {
      const name = `entity_${this.#random.bytes(4).toString('hex')}`
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
