/** Entities and aliases in response form. Empty maps are null. Groups and merged entities are not supported. */
import { formatNanoTime } from '../../base/rfc3339.js'
import type { Texts } from '../../logical/identity.js'
import type { Alias, Entity, EntityDirectory } from './directory.js'

type Mounts = Pick<EntityDirectory, 'findMount'>
type Shown = Record<string, unknown>

const textsOrNull = (texts: Texts): Texts | null => (Object.keys(texts).length === 0 ? null : texts)

const mountData = ({ mountAccessor }: Alias, mounts: Mounts): Shown => {
  const mount = mounts.findMount(mountAccessor)
  return { mount_accessor: mountAccessor, mount_path: mount?.path ?? '', mount_type: mount?.type ?? '' }
}

const aliasData = (alias: Alias, entity: Entity, mounts: Mounts): Shown => ({
  canonical_id: entity.id,
  creation_time: formatNanoTime(alias.createdAtMs),
  custom_metadata: textsOrNull(alias.customMetadata),
  id: alias.id,
  last_update_time: formatNanoTime(alias.updatedAtMs),
  local: false,
  merged_from_canonical_ids: null,
  metadata: textsOrNull(alias.metadata),
  ...mountData(alias, mounts),
  name: alias.name,
})

/** Returns an alias requested on its own, not as part of its entity. */
export const singleAliasData = (alias: Alias, entity: Entity, mounts: Mounts): Shown => ({
  ...aliasData(alias, entity, mounts),
  namespace_id: entity.namespaceId,
})

export const entityData = (entity: Entity, mounts: Mounts): Shown => ({
  aliases: entity.aliases.map((alias) => aliasData(alias, entity, mounts)),
  creation_time: formatNanoTime(entity.createdAtMs),
  direct_group_ids: [],
  disabled: entity.isDisabled,
  group_ids: [],
  id: entity.id,
  inherited_group_ids: [],
  last_update_time: formatNanoTime(entity.updatedAtMs),
  merged_entity_ids: null,
  metadata: textsOrNull(entity.metadata),
  mfa_secrets: {},
  name: entity.name,
  namespace_id: entity.namespaceId,
  policies: entity.policies,
})

/** Returns an entity of a list: a list by ID shows its name, a list by name its ID. */
export const listedEntity = (entity: Entity, by: 'id' | 'name', mounts: Mounts): Shown => ({
  ...(by === 'id' ? { name: entity.name } : { id: entity.id }),
  aliases: entity.aliases.map((alias) => ({ id: alias.id, ...mountData(alias, mounts), name: alias.name })),
})

export const listedAlias = (alias: Alias, entity: Entity, mounts: Mounts): Shown => ({
  canonical_id: entity.id,
  custom_metadata: textsOrNull(alias.customMetadata),
  local: false,
  ...mountData(alias, mounts),
  name: alias.name,
})
