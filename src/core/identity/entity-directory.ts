/**
 * Lets operators manage entities and their aliases. An alias belongs to one entity, and an entity has at most one alias
 * per mount.
 */
import { invalid } from '../../logical/errors.js'
import type {
  AliasChange,
  AliasFactors,
  Entity,
  EntityAlias,
  EntityChange,
  RecordDirectory,
} from '../../logical/identity.js'
import type { ReadStorage } from '../../logical/storage.js'
import { type DirectoryParts, factorsOf } from './directory-parts.js'
import { removeMember } from './group-record.js'
import { ENTITIES, isAlias } from './identity-record.js'

export const entityDirectory = (parts: DirectoryParts): RecordDirectory<Entity, EntityChange> => {
  const { store, write, checkMount, now } = parts
  return {
    ...store.finderOf(ENTITIES),
    put: (change) =>
      write((tx) => {
        const before = ENTITIES.findForChange(tx, change)
        const base = before ?? store.newRecords.entity(tx, change.namespaceId, change.name)
        const record: Entity = {
          ...base,
          name: change.name ?? base.name,
          metadata: change.metadata ?? base.metadata,
          policies: change.policies ?? base.policies ?? [],
          isDisabled: change.isDisabled ?? base.isDisabled,
          updatedAtMs: now(),
        }
        ENTITIES.replace(tx, before, record)
        return { record, isNew: before === undefined }
      }),
    remove: (namespaceId, id) =>
      write((tx) => {
        const entity = ENTITIES.findById(tx, namespaceId, id)
        if (!entity) return
        removeMember(tx, id, now())
        ENTITIES.replace(tx, entity, undefined)
      }),
    putAlias: (change) =>
      write((tx) => {
        const { namespaceId, customMetadata } = change
        const current = findForAliasChange(tx, change)
        const factors = factorsOf(change, current?.alias)
        checkMount(factors.mountAccessor, namespaceId)
        const taken = findAlias(tx, factors)
        if (taken && taken.alias.id !== current?.alias.id) {
          throw invalid('alias with combination of mount accessor and name already exists')
        }
        const target = findTarget(tx, change) ?? current?.entity ?? store.newRecords.entity(tx, namespaceId)
        const others = target.aliases.filter(({ id }) => id !== current?.alias.id)
        if (others.some((alias) => alias.mountAccessor === factors.mountAccessor)) {
          throw invalid(
            current?.entity.id === target.id
              ? "Alias cannot be updated as the entity already has an alias for the given 'mount_accessor' "
              : 'Alias already exists for requested entity and mount accessor',
          )
        }
        const { mountAccessor, name } = factors
        const kept = change.id === undefined ? {} : current?.alias.customMetadata
        const named = { mountAccessor, name, customMetadata: customMetadata ?? kept ?? {} }
        const changed = current && { ...current.alias, ...named, updatedAtMs: now() }
        const alias = changed ?? store.newRecords.alias({ ...named, metadata: {} })
        const record = { ...target, aliases: [...others, alias], updatedAtMs: now() }
        const isMoved = current !== undefined && current.entity.id !== target.id
        // Removes the alias from its old entity before adding it to the new entity, because both use the same index
        // keys.
        if (isMoved) ENTITIES.replace(tx, current.entity, without(current.entity, current.alias.id))
        ENTITIES.replace(tx, ENTITIES.read(tx, target.id), record)
        return { alias, record }
      }),
    removeAlias: (namespaceId, id) =>
      write((tx) => {
        const entity = ENTITIES.findByAliasId(tx, namespaceId, id)
        if (entity) ENTITIES.replace(tx, entity, without(entity, id))
      }),
  }
}

const without = (entity: Entity, aliasId: string): Entity => ({
  ...entity,
  aliases: entity.aliases.filter(({ id }) => id !== aliasId),
})

interface FoundAlias {
  readonly alias: EntityAlias
  readonly entity: Entity
}

const findAlias = (reader: ReadStorage, factors: AliasFactors): FoundAlias | undefined => {
  const entity = ENTITIES.findByAlias(reader, factors)
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
    if (mountAccessor === undefined || name === undefined) {
      throw invalid("'id' or 'mount_accessor' and 'name' must be provided")
    }
    return findAlias(reader, { namespaceId, mountAccessor, name })
  }
  const entity = ENTITIES.findByAliasId(reader, namespaceId, id)
  const alias = entity?.aliases.find((one) => one.id === id)
  if (!entity || !alias) throw invalid('invalid alias ID provided')
  return { alias, entity }
}

const findTarget = (reader: ReadStorage, { namespaceId, canonicalId }: AliasChange): Entity | undefined => {
  if (canonicalId === undefined) return undefined
  const entity = ENTITIES.findById(reader, namespaceId, canonicalId)
  if (!entity) throw invalid('invalid canonical ID')
  return entity
}
