/**
 * Lets operators manage groups and their aliases. Operators add members to internal groups; logins add entities to
 * external groups, which have one alias. An alias belongs to one group. Members are in the namespace of the group.
 */
import { invalid } from '../../logical/errors.js'
import type { AliasChange, Group, GroupChange, GroupType, RecordDirectory } from '../../logical/identity.js'
import type { ReadStorage } from '../../logical/storage.js'
import { type DirectoryParts, factorsOf } from './directory-parts.js'
import { checkMemberCount, GROUPS, membershipOf, removeGroup, replaceGroup, written } from './group-record.js'
import { ENTITIES } from './identity-record.js'

export const groupDirectory = (parts: DirectoryParts): RecordDirectory<Group, GroupChange> => {
  const { store, write, checkMount, now } = parts
  return {
    ...store.finderOf(GROUPS),
    put: (change) =>
      write((tx) => {
        const { namespaceId, name } = change
        const before = GROUPS.findForChange(tx, change)
        const type = change.type ?? before?.type ?? 'internal'
        if (before && before.type !== type) throw invalid('group type cannot be changed')
        checkTypeOfMembers(type, change)
        const base = before ?? store.newRecords.group(tx, { type, namespaceId, name })
        const changed: Group = {
          ...base,
          name: name ?? base.name,
          metadata: change.metadata ?? base.metadata,
          policies: change.policies ?? base.policies,
          memberEntityIds: change.memberEntityIds ?? base.memberEntityIds,
          memberGroupIds: change.memberGroupIds ?? base.memberGroupIds,
        }
        const record = written(changed, now())
        checkMembers(tx, record, change)
        replaceGroup(tx, before, record)
        return { record, isNew: before === undefined }
      }),
    remove: (namespaceId, id) =>
      write((tx) => {
        const group = GROUPS.findById(tx, namespaceId, id)
        if (group) removeGroup(tx, group, now())
      }),
    putAlias: (change) =>
      write((tx) => {
        const { namespaceId, id } = change
        const owner = id === undefined ? undefined : GROUPS.findByAliasId(tx, namespaceId, id)
        if (id !== undefined && !owner) throw invalid('invalid group alias ID')
        const [current] = owner?.aliases ?? []
        const factors = factorsOf(change, current)
        checkMount(factors.mountAccessor, namespaceId)
        const taken = GROUPS.findByAlias(tx, factors)
        if (taken && taken.id !== owner?.id) {
          throw invalid('combination of mount and group alias name is already in use')
        }
        const target = findTarget(tx, change) ?? owner ?? store.newRecords.group(tx, { type: 'external', namespaceId })
        if (target.type !== 'external') throw invalid("alias can't be set on an internal group")
        const { mountAccessor, name } = factors
        const changed = current && { ...current, mountAccessor, name, updatedAtMs: now() }
        const alias = changed ?? store.newRecords.alias({ mountAccessor, name, metadata: {}, customMetadata: {} })
        // Removes the alias from its old group before adding it to the new group, because both use the same index keys.
        if (owner && owner.id !== target.id) replaceGroup(tx, owner, written(withoutAlias(owner), now()))
        const isSame = target.aliases.some((one) => one.mountAccessor === mountAccessor && one.name === name)
        const record = written({ ...(isSame ? target : withoutAlias(target)), aliases: [alias] }, now())
        replaceGroup(tx, GROUPS.read(tx, target.id), record)
        return { alias, record }
      }),
    removeAlias: (namespaceId, id) =>
      write((tx) => {
        const group = GROUPS.findByAliasId(tx, namespaceId, id)
        if (group) replaceGroup(tx, group, written(withoutAlias(group), now()))
      }),
  }
}

/** Removes the alias of an external group, and its members: they were reported under that alias. */
const withoutAlias = (group: Group): Group => ({ ...group, aliases: [], memberEntityIds: [] })

const checkTypeOfMembers = (type: GroupType, { memberEntityIds, memberGroupIds }: GroupChange): void => {
  if (type === 'internal') return
  if (memberEntityIds) throw invalid("member entities can't be set manually for external groups")
  if (memberGroupIds) throw invalid("member groups can't be set for external groups")
}

/** Throws LogicalError 400 if the new members of a group do not exist, are too many, or contain the group. */
const checkMembers = (
  reader: ReadStorage,
  group: Group,
  { memberEntityIds = [], memberGroupIds = [] }: GroupChange,
) => {
  const { namespaceId } = group
  checkMemberCount(group)
  for (const id of memberEntityIds) {
    if (!ENTITIES.findById(reader, namespaceId, id)) throw invalid(`invalid entity ID ${JSON.stringify(id)}`)
  }
  const { direct, inherited } = membershipOf(reader, group.id)
  const above = new Set([group, ...direct, ...inherited].map(({ id }) => id))
  for (const id of memberGroupIds) {
    if (id === group.id) throw invalid(`member group ID ${JSON.stringify(id)} is same as the ID of the group`)
    if (above.has(id)) throw invalid(`cyclic relationship detected for member group ID ${JSON.stringify(id)}`)
    if (!GROUPS.findById(reader, namespaceId, id)) throw invalid(`invalid member group ID ${JSON.stringify(id)}`)
  }
}

const findTarget = (reader: ReadStorage, { namespaceId, canonicalId }: AliasChange): Group | undefined => {
  if (canonicalId === undefined) return undefined
  const group = GROUPS.findById(reader, namespaceId, canonicalId)
  if (!group) throw invalid("invalid group ID given in 'canonical_id'")
  return group
}
