import type { Clock } from '../../base/clock.js'
import { LIMITS } from '../../base/limits.js'
import type { Random } from '../../base/random.js'
import { invalid, isReadOnly, permissionDenied } from '../../logical/errors.js'
import type { Storage, Transaction } from '../../logical/storage.js'
import { lowerNames } from '../../logical/token-fields.js'
import type { AliasFactors, Entity, Group, IdentityRecord, Membership, RecordFinder } from '../../logical/identity.js'
import { RecentCache } from '../../base/recent-cache.js'
import { type EntityView, type GroupView, resolveTemplate } from '../acl/acl-pattern.js'
import { hasReportedGroups, isAliasName, putReportedGroups } from './external-groups.js'
import { GROUPS, MEMBER_KEYS, membershipOf, removeGroup } from './group-record.js'
import { ENTITIES, isAlias, type RecordTable } from './identity-record.js'
import { NewRecords } from './new-records.js'

interface AliasQuery extends AliasFactors {
  readonly metadata: Readonly<Record<string, string>>
  /** The names of the group aliases that the login reports; undefined if the auth method reports no groups. */
  readonly groups?: readonly string[] | undefined
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

/** Policies that an entity and its groups never add to tokens, even if their records list them. */
const NEVER_GIVEN: ReadonlySet<string> = new Set(['root', 'response-wrapping'])

/** The policies and template values that an entity and its groups add to a token of the entity's namespace. */
interface Grants {
  readonly namespaceId: string
  readonly policies: readonly string[]
  readonly view: EntityView
}

/**
 * The entities of logins. The first login with a namespace, mount and alias name creates an entity, which replicates to
 * all clusters of the replication set. Only a cluster that can write replicated data creates entities.
 */
export class IdentityStore {
  readonly #options: IdentityStoreOptions
  readonly newRecords: NewRecords
  readonly #entities = new RecentCache<Entity>(CACHED_ENTITIES)
  /** Entity IDs by storage key of the alias. */
  readonly #aliases = new RecentCache<string>(CACHED_ENTITIES)
  /** By entity ID. Every change of a group discards all of them. */
  readonly #grants = new RecentCache<Grants>(CACHED_ENTITIES)
  /**
   * Entities announced by `expect`, by entity ID. If the cache evicts an entry, tokens of the entity are rejected until
   * the entity has replicated.
   */
  readonly #expected = new RecentCache<() => boolean>(CACHED_ENTITIES)

  constructor(options: IdentityStoreOptions) {
    this.#options = options
    this.newRecords = new NewRecords(options)
  }

  /** Finds the entity of an ID, or the entity into which it was merged. */
  findEntity(id: string): Entity | undefined {
    if (id === '') return undefined
    const known = this.#entities.get(id)
    if (known) return known
    const entity = ENTITIES.read(this.#options.storage, id)
    if (!entity) return ENTITIES.findByMergedId(this.#options.storage, id)
    this.#entities.set(id, entity)
    return entity
  }

  findByAlias(factors: AliasFactors): Entity | undefined {
    const key = ENTITIES.aliasKey(factors)
    const known = this.#aliases.get(key)
    if (known !== undefined) return this.findEntity(known)
    const entity = ENTITIES.findByAlias(this.#options.storage, factors)
    if (entity) this.#aliases.set(key, entity.id)
    return entity && this.findEntity(entity.id)
  }

  finderOf<T extends IdentityRecord>(table: RecordTable<T>): RecordFinder<T> {
    const { storage } = this.#options
    return {
      findById: (namespaceId, id) => table.findById(storage, namespaceId, id),
      findByName: (namespaceId, name) => table.findByName(storage, namespaceId, name),
      findByAlias: (factors) => table.findByAlias(storage, factors),
      findByAliasId: (namespaceId, id) => table.findByAliasId(storage, namespaceId, id),
      list: (namespaceId) => table.list(storage, namespaceId),
    }
  }

  /** Returns the number of entities in all namespaces. */
  async count(): Promise<number> {
    return (await this.#options.storage.keys(ENTITIES.prefix)).length
  }

  /**
   * Returns the policies that the entity and its groups add to a token, sorted. Returns none if entity and token are in
   * different namespaces.
   */
  policiesOf(token: { readonly entityId: string; readonly namespace: { readonly id: string } }): string[] {
    const grants = this.#grantsOf(token.entityId)
    return grants?.namespaceId === token.namespace.id ? [...grants.policies] : []
  }

  membershipOf(memberId: string): Membership {
    return membershipOf(this.#options.storage, memberId)
  }

  /** Returns the values that templates of policies use, including those of the entity's groups. */
  viewOf(entityId: string): EntityView | undefined {
    return this.#grantsOf(entityId)?.view
  }

  /** Replaces templates by values of an entity. Returns undefined if a value is missing. */
  resolveTemplate(text: string, entityId: string): string | undefined {
    return resolveTemplate(text, this.viewOf(entityId))
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
   * Finds or creates the entity of an alias, and updates the alias metadata and the external groups. Rejects with
   * LogicalError 400 for an invalid name, and 403 for a disabled entity. If this cluster cannot write replicated data,
   * a missing entity and changed groups cause LogicalError `read-only`, and changed metadata is not stored. Users whose
   * groups are unchanged can therefore log in while the primary is unreachable.
   */
  async findOrCreate(query: AliasQuery): Promise<Entity> {
    if (!isAliasName(query.name)) throw invalid(`the alias name must have 1 to ${LIMITS.aliasNameBytesMax} bytes`)
    const entity = await this.#findOrCreate(query)
    if (entity.isDisabled) throw permissionDenied()
    return entity
  }

  write<T>(change: (tx: Transaction) => T): Promise<T> {
    return this.#options.storage.write(change)
  }

  async removeNamespace(namespaceId: string): Promise<void> {
    const { storage, clock } = this.#options
    for (const { id } of await GROUPS.list(storage, namespaceId)) {
      await this.write((tx) => {
        const group = GROUPS.read(tx, id)
        if (group) removeGroup(tx, group, clock.now())
      })
    }
    for (const { id } of await ENTITIES.list(storage, namespaceId)) {
      await this.write((tx) => ENTITIES.replace(tx, ENTITIES.read(tx, id), undefined))
    }
  }

  /** Discards cached data of a changed key below `sys/identity/`. */
  invalidate(key: string): void {
    if (key.startsWith(ENTITIES.prefix)) {
      const id = key.slice(ENTITIES.prefix.length)
      for (const cache of [this.#entities, this.#expected, this.#grants]) cache.delete(id)
    } else if (key.startsWith(GROUPS.prefix) || key.startsWith(MEMBER_KEYS.members)) this.#grants.clear()
    else this.#aliases.delete(key)
  }

  #grantsOf(entityId: string): Grants | undefined {
    const known = this.#grants.get(entityId)
    if (known) return known
    const entity = this.findEntity(entityId)
    if (!entity) return undefined
    const { namespaceId, id, name, metadata, aliases } = entity
    const { direct, inherited } = membershipOf(this.#options.storage, id)
    const groups = [...direct, ...inherited]
    const policies = lowerNames([entity, ...groups].flatMap((record) => record.policies ?? []))
    const grants = {
      namespaceId,
      policies: policies.filter((policy) => !NEVER_GIVEN.has(policy)),
      view: { id, name, metadata, aliases, groups: groups.map(viewOfGroup) },
    }
    this.#grants.set(id, grants)
    return grants
  }

  async #findOrCreate(query: AliasQuery): Promise<Entity> {
    const found = this.findByAlias(query)
    const isGrouped = found !== undefined && hasReportedGroups(this.#options.storage, found.id, query)
    if (isGrouped && hasMetadata(found, query)) return found
    try {
      return await this.#put(query)
    } catch (error) {
      if (isGrouped && isReadOnly(error)) return found
      throw error
    }
  }

  #put(query: AliasQuery): Promise<Entity> {
    return this.write((tx) => {
      const before = ENTITIES.findByAlias(tx, query)
      const after = this.#withAlias(before ?? this.newRecords.entity(tx, query.namespaceId), query)
      ENTITIES.replace(tx, before, after)
      putReportedGroups(tx, after.id, query, this.#options.clock.now())
      return after
    })
  }

  #withAlias(entity: Entity, query: AliasQuery): Entity {
    const { mountAccessor, name, metadata } = query
    const known = entity.aliases.find((alias) => isAlias(alias, query))
    if (!known) {
      const alias = this.newRecords.alias({ mountAccessor, name, metadata, customMetadata: {} })
      return { ...entity, aliases: [...entity.aliases, alias] }
    }
    const updated = { ...known, metadata, updatedAtMs: this.#options.clock.now() }
    return { ...entity, aliases: entity.aliases.map((alias) => (alias === known ? updated : alias)) }
  }
}

const viewOfGroup = ({ id, name, metadata }: Group): GroupView => ({ id, name, metadata })

const hasMetadata = (entity: Entity, query: AliasQuery): boolean => {
  const current = entity.aliases.find((alias) => isAlias(alias, query))?.metadata
  if (current === undefined) return false
  const names = Object.keys(query.metadata)
  return (
    names.length === Object.keys(current).length &&
    names.every((name) => Object.hasOwn(current, name) && current[name] === query.metadata[name])
  )
}
