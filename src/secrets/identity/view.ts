/** Converts entities, groups and aliases to the form of responses. Empty maps are null. */
import { formatNanoTime } from '../../base/rfc3339.js'
import type {
  Entity,
  EntityAlias,
  Group,
  GroupType,
  IdentityDirectory,
  IdentityRecord,
  Texts,
} from '../../logical/identity.js'
import { LIMITS } from '../../base/limits.js'
import { invalid } from '../../logical/errors.js'
import { nullIfEmpty } from '../../logical/json.js'
import { lowerNames } from '../../logical/token-fields.js'

type Mounts = Pick<IdentityDirectory, 'findMount'>
export type Shown = Record<string, unknown>

/** Without its mount, an alias has the accessor only. */
const mountData = ({ mountAccessor }: EntityAlias, mounts: Mounts): Shown => {
  const mount = mounts.findMount(mountAccessor)
  return { mount_accessor: mountAccessor, ...(mount && { mount_path: mount.path, mount_type: mount.type }) }
}

/** Returns the alias as part of a group. */
const groupAliasData = (alias: EntityAlias, owner: IdentityRecord, mounts: Mounts): Shown => ({
  canonical_id: owner.id,
  creation_time: formatNanoTime(alias.createdAtMs),
  id: alias.id,
  last_update_time: formatNanoTime(alias.updatedAtMs),
  merged_from_canonical_ids: nullIfEmpty(alias.mergedFromIds ?? []),
  metadata: nullIfEmpty(alias.metadata),
  ...mountData(alias, mounts),
  name: alias.name,
})

const aliasData = (alias: EntityAlias, owner: IdentityRecord, mounts: Mounts): Shown => ({
  ...groupAliasData(alias, owner, mounts),
  custom_metadata: nullIfEmpty(alias.customMetadata),
  local: false,
})

/** Returns the data of a response that contains one alias without its entity or group. */
export const singleAliasData = (alias: EntityAlias, owner: IdentityRecord, mounts: Mounts): Shown => ({
  ...aliasData(alias, owner, mounts),
  namespace_id: owner.namespaceId,
})

const recordData = (record: IdentityRecord): Shown => ({
  creation_time: formatNanoTime(record.createdAtMs),
  id: record.id,
  last_update_time: formatNanoTime(record.updatedAtMs),
  metadata: nullIfEmpty(record.metadata),
  name: record.name,
  namespace_id: record.namespaceId,
  policies: record.policies,
})

const idsOf = (records: readonly IdentityRecord[]): string[] => records.map(({ id }) => id)

export const entityData = (entity: Entity, directory: IdentityDirectory): Shown => {
  const { direct, inherited } = directory.membershipOf(entity.id)
  return {
    ...recordData(entity),
    aliases: entity.aliases.map((alias) => aliasData(alias, entity, directory)),
    direct_group_ids: idsOf(direct),
    disabled: entity.isDisabled,
    group_ids: idsOf([...direct, ...inherited]),
    inherited_group_ids: idsOf(inherited),
    merged_entity_ids: nullIfEmpty(entity.mergedIds ?? []),
    mfa_secrets: {},
  }
}

/** Lists of groups without elements are null. */
export const groupData = (group: Group, directory: IdentityDirectory): Shown => {
  const [alias] = group.aliases
  return {
    ...recordData(group),
    alias: alias ? groupAliasData(alias, group, directory) : {},
    member_entity_ids: nullIfEmpty(group.memberEntityIds),
    member_group_ids: nullIfEmpty(group.memberGroupIds),
    modify_index: group.modifyIndex,
    parent_group_ids: nullIfEmpty(idsOf(directory.membershipOf(group.id).direct)),
    type: group.type,
  }
}

const namedAlias = (alias: EntityAlias, mounts: Mounts): Shown => ({
  id: alias.id,
  ...mountData(alias, mounts),
  name: alias.name,
})

/** Returns an entity as an element of a list, without its ID and its name. */
export const listedEntity = (entity: Entity, mounts: Mounts): Shown => ({
  aliases: entity.aliases.map((alias) => namedAlias(alias, mounts)),
})

/** Returns a group as an element of a list, without its ID and its name. */
export const listedGroup = (group: Group, directory: IdentityDirectory): Shown => {
  const [alias] = group.aliases
  return {
    ...(alias && { alias: namedAlias(alias, directory) }),
    num_member_entities: group.memberEntityIds.length,
    num_parent_groups: directory.membershipOf(group.id).direct.length,
  }
}

export const listedAlias = (alias: EntityAlias, owner: IdentityRecord, mounts: Mounts): Shown => ({
  canonical_id: owner.id,
  custom_metadata: nullIfEmpty(alias.customMetadata),
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

/** Returns the IDs sorted, without duplicates and empty elements. */
export const cleanIds = (ids: readonly string[]): string[] => [...new Set(ids)].filter((id) => id !== '').sort()

/** Throws LogicalError 400 for an unknown type. */
export const parseGroupType = (type: string): GroupType => {
  if (type !== 'internal' && type !== 'external') throw invalid(`invalid group type ${JSON.stringify(type)}`)
  return type
}
