import { type Backend, definePath } from '../../logical/backend.js'
import { bool, commaList, pairs, string, stringList } from '../../logical/fields.js'
import { invalid } from '../../logical/errors.js'
import type { IdentityDirectory, RecordChange, Texts } from '../../logical/identity.js'
import { recordPaths } from './record-paths.js'
import {
  cleanIds,
  cleanName,
  cleanPolicies,
  cleanTexts,
  entityData,
  groupData,
  listedEntity,
  listedGroup,
  parseGroupType,
} from './view.js'

const ENTITY_FIELDS = {
  id: string('ID of the entity to change.'),
  name: string('Name of the entity. Default: a random name.'),
  metadata: pairs('Metadata of the entity. Replaces the existing metadata.'),
  policies: commaList('Policies that the entity adds to all its tokens.'),
  disabled: bool('Disables the entity: its tokens are rejected, but not revoked.'),
} as const

const ENTITY_ALIAS_FIELDS = {
  id: string('ID of the alias to change.'),
  name: string('Name of the client in the auth method, for example a RoleID or a user name.'),
  mount_accessor: string('Accessor of the auth mount.'),
  canonical_id: string('ID of the entity. Default: a new entity.'),
  entity_id: string('Deprecated name of canonical_id.', '', { isDeprecated: true }),
  custom_metadata: pairs('Custom metadata of the alias. Replaces the existing metadata.'),
} as const

const BATCH_FIELDS = { entity_ids: stringList('IDs of the entities to delete.') } as const

const MERGE_FIELDS = {
  to_entity_id: string('ID of the entity that remains.'),
  from_entity_ids: commaList('IDs of the entities to merge.'),
  conflicting_alias_ids_to_keep: commaList('IDs of the aliases to keep if both entities have an alias on a mount.'),
  force: bool('Has no effect: it concerns MFA secrets only.'),
} as const

const GROUP_FIELDS = {
  id: string('ID of the group to change.'),
  name: string('Name of the group. Default: a random name.'),
  type: string('Type of the group: internal or external. Cannot change.', 'internal'),
  metadata: pairs('Metadata of the group. Replaces the existing metadata.'),
  policies: commaList('Policies that the group adds to all tokens of its members.'),
  member_group_ids: commaList('IDs of the groups in this group. Replaces the existing list.'),
  member_entity_ids: commaList('IDs of the entities in this group. Replaces the existing list.'),
} as const

const GROUP_ALIAS_FIELDS = {
  id: string('ID of the alias to change.'),
  name: string('Name of the group in the auth method.'),
  mount_accessor: string('Accessor of the auth mount.'),
  canonical_id: string('ID of the external group. Default: a new external group.'),
} as const

/** Creates the backend for entities, which logins and operators create, and for groups. */
export const createIdentityBackend = (directory: IdentityDirectory): Backend => ({
  type: 'identity',
  paths: [
    definePath('entity/batch-delete', BATCH_FIELDS, 'Delete several entities.', {
      update: async ({ request, values }) => {
        if (values.entity_ids.length === 0) throw invalid('missing entity ids to delete')
        for (const id of values.entity_ids) await directory.entities.remove(request.namespace.id, id)
        return undefined
      },
    }),
    definePath('entity/merge', MERGE_FIELDS, 'Merge entities into another entity.', {
      update: async ({ request, values }) => {
        const { to_entity_id: targetId, from_entity_ids: sourceIds, conflicting_alias_ids_to_keep: kept } = values
        if (targetId === '') throw invalid('missing entity id to merge to')
        if (sourceIds.length === 0) throw invalid('missing entity ids to merge from')
        const keptAliasIds = cleanIds(kept)
        const merge = { namespaceId: request.namespace.id, targetId, sourceIds: cleanIds(sourceIds), keptAliasIds }
        await directory.mergeEntities(merge)
        return undefined
      },
    }),
    ...entityPaths(directory),
    ...groupPaths(directory),
  ],
})

/** Creates the paths of entities and the policies that they add to tokens. */
const entityPaths = (directory: IdentityDirectory) =>
  recordPaths({
    word: 'entity',
    texts: ['an entity', 'entities'],
    aliasTexts: ['an alias', 'aliases'],
    directory: directory.entities,
    mounts: directory,
    fields: ENTITY_FIELDS,
    keysOf: ({ values }) => values,
    changeOf: ({ request, values, supplied }) => ({
      ...commonChange(request.namespace.id, { values, supplied }),
      isDisabled: supplied('disabled') ? values.disabled : undefined,
    }),
    aliasFields: ENTITY_ALIAS_FIELDS,
    aliasIdOf: ({ values }) => values.id,
    aliasChangeOf: ({ request, values, supplied }) => ({
      ...commonAliasChange(request.namespace.id, values),
      canonicalId: values.canonical_id || values.entity_id || undefined,
      customMetadata: supplied('custom_metadata') ? cleanTexts(values.custom_metadata) : undefined,
    }),
    madeData: ({ id, name }) => ({ aliases: null, id, name }),
    data: (entity) => entityData(entity, directory),
    listed: (entity) => listedEntity(entity, directory),
  })

/** Creates the paths of groups and the policies that they add to the tokens of their members. */
const groupPaths = (directory: IdentityDirectory) =>
  recordPaths({
    word: 'group',
    texts: ['a group', 'groups'],
    aliasTexts: ['a group alias', 'group aliases'],
    directory: directory.groups,
    mounts: directory,
    fields: GROUP_FIELDS,
    keysOf: ({ values }) => values,
    changeOf: ({ request, values, supplied }) => ({
      ...commonChange(request.namespace.id, { values, supplied }),
      type: supplied('type') ? parseGroupType(values.type) : undefined,
      memberEntityIds: supplied('member_entity_ids') ? cleanIds(values.member_entity_ids) : undefined,
      memberGroupIds: supplied('member_group_ids') ? cleanIds(values.member_group_ids) : undefined,
    }),
    aliasFields: GROUP_ALIAS_FIELDS,
    aliasIdOf: ({ values }) => values.id,
    aliasChangeOf: ({ request, values }) => ({
      ...commonAliasChange(request.namespace.id, values),
      canonicalId: values.canonical_id || undefined,
      customMetadata: undefined,
    }),
    madeData: ({ id, name }) => ({ id, name }),
    data: (group) => groupData(group, directory),
    listed: (group) => listedGroup(group, directory),
  })

interface CommonCall {
  readonly values: {
    readonly id: string
    readonly name: string
    readonly metadata: Texts | null
    readonly policies: readonly string[]
  }
  supplied(name: 'metadata' | 'policies'): boolean
}

const commonChange = (namespaceId: string, { values, supplied }: CommonCall): RecordChange => ({
  namespaceId,
  id: values.id || undefined,
  name: cleanName(values.name),
  metadata: supplied('metadata') ? cleanTexts(values.metadata) : undefined,
  policies: supplied('policies') ? cleanPolicies(values.policies) : undefined,
})

const commonAliasChange = (
  namespaceId: string,
  values: { readonly id: string; readonly name: string; readonly mount_accessor: string },
) => ({
  namespaceId,
  id: values.id || undefined,
  name: cleanName(values.name),
  mountAccessor: values.mount_accessor || undefined,
})
