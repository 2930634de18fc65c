/**
 * Lets operators manage entities and aliases. The name of an entity is unique per namespace. The name of an alias is
 * unique per mount. An alias belongs to one entity, and an entity has at most one alias per mount. All checks run
 * inside the transaction that writes.
 */
import { invalid, LogicalError } from '../../logical/errors.js'
import type {
  AliasChange,
  AliasFactors,
  Entity,
  EntityAlias,
  EntityChange,
  EntityDirectory,
} from '../../logical/identity.js'
import type { ReadStorage, Transaction } from '../../logical/storage.js'
import { type IdentityStore, isAlias } from './identity.js'
import { followKey, IDENTITY_KEYS, readEntity, replaceEntity } from './identity-record.js'

export interface AliasMount {
  readonly type: string
  readonly path: string
  readonly namespaceId: string
  readonly isLocal: boolean
}

interface DirectoryOptions {
  readonly store: IdentityStore
  readonly findMount: (accessor: string) => AliasMount | undefined
  /**
   * Returns true if this cluster cannot write entities. A write then fails with `read-only` before any other check, so
   * that the primary handles the request.
   */
  readonly isReadOnly: () => boolean
  readonly now: () => number
}

export const identityDirectory = ({ store, findMount, isReadOnly, now }: DirectoryOptions): EntityDirectory => {
  const write = async <T>(change: (tx: Transaction) => T): Promise<T> => {
    if (isReadOnly()) throw new LogicalError('read-only', 'cannot write to readonly storage')
    return store.write(change)
  }
  const checkMount = (accessor: string, namespaceId: string): void => {
    const mount = findMount(accessor)
    if (!mount) throw invalid(`invalid mount accessor ${JSON.stringify(accessor)}`)
    if (mount.namespaceId !== namespaceId) throw invalid('matching mount is in a different namespace than request')
    if (mount.isLocal) throw invalid(`mount accessor ${JSON.stringify(accessor)} is a local mount`)
  }
  return {
    findMount,
    findById: (namespaceId, id) => within(namespaceId, store.findEntity(id)),
    findByName: (namespaceId, name) => store.findByName(namespaceId, name),
    findByAlias: (factors) => store.findByAlias(factors),
    findByAliasId: (namespaceId, id) => within(namespaceId, store.findByAliasId(id)),
    list: (namespaceId) => store.list(namespaceId),
    putEntity: (change) =>
      write((tx) => {
        const before = findForChange(tx, change)
        const base = before ?? store.newEntity(tx, change.namespaceId, change.name)
        const entity: Entity = {
          ...base,
          name: change.name ?? base.name,
          metadata: change.metadata ?? base.metadata,
          policies: change.policies ?? base.policies ?? [],
          isDisabled: change.isDisabled ?? base.isDisabled,
          updatedAtMs: now(),
        }
        replaceEntity(tx, before, entity)
        return { entity, isNew: before === undefined }
      }),
    removeEntity: (namespaceId, id) =>
      write((tx) => {
        const entity = within(namespaceId, readEntity(tx, id))
        if (entity) replaceEntity(tx, entity, undefined)
      }),
    putAlias: (change) =>
      write((tx) => {
        const { namespaceId, customMetadata } = change
        const current = findForAliasChange(tx, change)
        const mountAccessor = change.mountAccessor ?? current?.alias.mountAccessor
        const name = change.name ?? current?.alias.name
        if (name === undefined) throw invalid('missing alias name')
        if (mountAccessor === undefined) throw invalid('missing mount_accessor')
        checkMount(mountAccessor, namespaceId)
        const taken = findAlias(tx, { namespaceId, mountAccessor, name })
        if (taken && taken.alias.id !== current?.alias.id) {
          throw invalid('alias with combination of mount accessor and name already exists')
        }
        const target = findTarget(tx, change) ?? current?.entity ?? store.newEntity(tx, namespaceId)
        const others = target.aliases.filter(({ id }) => id !== current?.alias.id)
        if (others.some((alias) => alias.mountAccessor === mountAccessor)) {
          throw invalid('Alias already exists for requested entity and mount accessor')
        }
        const named = { mountAccessor, name, customMetadata: customMetadata ?? current?.alias.customMetadata ?? {} }
        const changed = current && { ...current.alias, ...named, updatedAtMs: now() }
        const alias = changed ?? store.newAlias({ ...named, metadata: {} })
        const entity = { ...target, aliases: [...others, alias], updatedAtMs: now() }
        const isMoved = current !== undefined && current.entity.id !== target.id
        // Removes the alias from its old entity before adding it to the new entity, because both use the same index
        // keys.
        if (isMoved) replaceEntity(tx, current.entity, without(current.entity, current.alias.id))
        replaceEntity(tx, readEntity(tx, target.id), entity)
        return { alias, entity }
      }),
    removeAlias: (namespaceId, id) =>
      write((tx) => {
        const entity = within(namespaceId, followKey(tx, IDENTITY_KEYS.aliasId(id)))
        if (entity) replaceEntity(tx, entity, without(entity, id))
      }),
  }
}

const within = (namespaceId: string, entity: Entity | undefined): Entity | undefined =>
  entity?.namespaceId === namespaceId ? entity : undefined

const without = (entity: Entity, aliasId: string): Entity => ({
  ...entity,
  aliases: entity.aliases.filter(({ id }) => id !== aliasId),
})

/**
 * Finds the entity to change, by ID or by name. Returns undefined if the change creates an entity. Throws LogicalError
 * 400 for an unknown ID.
 */
const findForChange = (reader: ReadStorage, { namespaceId, id, name }: EntityChange): Entity | undefined => {
  const byId = id === undefined ? undefined : within(namespaceId, readEntity(reader, id))
  if (id !== undefined && !byId) throw invalid('entity not found from id')
  const byName = name === undefined ? undefined : followKey(reader, IDENTITY_KEYS.name(namespaceId, name))
  if (byId && byName && byName.id !== byId.id) throw invalid('entity name is already in use')
  return byId ?? byName
}

interface FoundAlias {
  readonly alias: EntityAlias
  readonly entity: Entity
}

const findAlias = (reader: ReadStorage, factors: AliasFactors): FoundAlias | undefined => {
  const entity = followKey(reader, IDENTITY_KEYS.alias(factors))
  const alias = entity?.aliases.find((one) => isAlias(one, factors))
  return entity && alias && { alias, entity }
}

/**
 * Finds the alias to change, by ID or by mount and name. Returns undefined if the change creates an alias. Throws
 * LogicalError 400 for an unknown ID.
 */
const findForAliasChange = (reader: ReadStorage, change: AliasChange): FoundAlias | undefined => {
  const { namespaceId, id, mountAccessor, name } = change
  if (id === undefined) {
    if (mountAccessor === undefined || name === undefined) return undefined
    return findAlias(reader, { namespaceId, mountAccessor, name })
  }
  const entity = within(namespaceId, followKey(reader, IDENTITY_KEYS.aliasId(id)))
  const alias = entity?.aliases.find((one) => one.id === id)
  if (!entity || !alias) throw invalid('invalid alias ID')
  return { alias, entity }
}

const findTarget = (reader: ReadStorage, { namespaceId, canonicalId }: AliasChange): Entity | undefined => {
  if (canonicalId === undefined) return undefined
  const entity = within(namespaceId, readEntity(reader, canonicalId))
  if (!entity) throw invalid('invalid canonical ID')
  return entity
}
