/**
 * Converts entities and aliases to the form of responses. Empty maps are null. Groups and merged entities are not
 * supported.
 */
import { formatNanoTime } from '../../base/rfc3339.js'
import type { Entity, EntityAlias, EntityDirectory, Texts } from '../../logical/identity.js'
import { LIMITS } from '../../base/limits.js'
import { invalid } from '../../logical/errors.js'
import { lowerNames } from '../../logical/token-fields.js'

type Mounts = Pick<EntityDirectory, 'findMount'>
type Shown = Record<string, unknown>

const textsOrNull = (texts: Texts): Texts | null => (Object.keys(texts).length === 0 ? null : texts)

const mountData = ({ mountAccessor }: EntityAlias, mounts: Mounts): Shown => {
  const mount = mounts.findMount(mountAccessor)
  return { mount_accessor: mountAccessor, mount_path: mount?.path ?? '', mount_type: mount?.type ?? '' }
}

const aliasData = (alias: EntityAlias, entity: Entity, mounts: Mounts): Shown => ({
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

/** Returns the data of a response that contains one alias without its entity. */
export const singleAliasData = (alias: EntityAlias, entity: Entity, mounts: Mounts): Shown => ({
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

/** Returns an entity as an element of a list. A list by ID shows the entity's name, and a list by name shows its ID. */
export const listedEntity = (entity: Entity, by: 'id' | 'name', mounts: Mounts): Shown => ({
  ...(by === 'id' ? { name: entity.name } : { id: entity.id }),
  aliases: entity.aliases.map((alias) => ({ id: alias.id, ...mountData(alias, mounts), name: alias.name })),
})

export const listedAlias = (alias: EntityAlias, entity: Entity, mounts: Mounts): Shown => ({
  canonical_id: entity.id,
  custom_metadata: textsOrNull(alias.customMetadata),
  local: false,
  ...mountData(alias, mounts),
  name: alias.name,
})

/** Returns the metadata of an entity or an alias. Throws LogicalError 400 if the metadata exceeds a limit. */
export const cleanTexts = (texts: Texts | null): Texts => {
  const entries = Object.entries(texts ?? {})
  const { identityTextsMax, identityTextNameBytesMax, identityTextBytesMax } = LIMITS
  if (entries.length > identityTextsMax) {
    throw invalid(`metadata may have at most ${identityTextsMax} keys, and has ${entries.length}`)
  }
  for (const [name, text] of entries) {
    if (name === '' || Buffer.byteLength(name) > identityTextNameBytesMax) {
      throw invalid(`a key of metadata must have 1 to ${identityTextNameBytesMax} bytes`)
    }
    if (Buffer.byteLength(text) > identityTextBytesMax) {
      throw invalid(`the value of metadata key ${JSON.stringify(name)} has more than ${identityTextBytesMax} bytes`)
    }
  }
  return Object.fromEntries(entries)
}

/**
 * Returns the policies sorted and without duplicates, in their original letter case. Throws LogicalError 400 for `root`
 * in any letter case, because policies are looked up in lower case.
 */
export const cleanPolicies = (names: readonly string[]): string[] => {
  if (lowerNames(names).includes('root')) throw invalid('policies cannot contain root')
  return [...new Set(names.map((name) => name.trim()).filter((name) => name !== ''))].sort()
}

/** Returns the name in a request; undefined if it is empty. Throws LogicalError 400 if the name is too long. */
export const cleanName = (name: string): string | undefined => {
  if (Buffer.byteLength(name) > LIMITS.aliasNameBytesMax) {
    throw invalid(`name is longer than ${LIMITS.aliasNameBytesMax} bytes`)
  }
  return name || undefined
}
