import { type Backend, type Call, definePath, type PathSpec, shown } from '../../logical/backend.js'
import { cleanName, cleanPolicies, cleanTexts, entityData, listedAlias, listedEntity, singleAliasData } from './view.js'
import type { Entity, EntityDirectory } from '../../logical/identity.js'
import { invalid } from '../../logical/errors.js'
import { bool, commaList, pairs, string, stringList } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'

const ENTITY_FIELDS = {
  id: string('ID of the entity to change.'),
  name: string('Name of the entity. Default: a random name.'),
  metadata: pairs('Metadata of the entity. Replaces the existing metadata.'),
  policies: commaList('Policies that the entity adds to all its tokens.'),
  disabled: bool('Disables the entity: its tokens are rejected, but not revoked.'),
} as const

const BATCH_FIELDS = { entity_ids: stringList('IDs of the entities to delete.') } as const

type EntityCall = Call<typeof ENTITY_FIELDS>

/** Creates the paths of identity/entity, which manage entities and the policies that they add to tokens. */
const entityPaths = (directory: EntityDirectory): PathSpec[] => {
  const write = async (call: EntityCall): Promise<Response | undefined> => {
    const { values, supplied, request } = call
    const { entity, isNew } = await directory.putEntity({
      namespaceId: request.namespace.id,
      id: values.id || undefined,
      name: cleanName(values.name),
      metadata: supplied('metadata') ? cleanTexts(values.metadata) : undefined,
      policies: supplied('policies') ? cleanPolicies(values.policies) : undefined,
      isDisabled: supplied('disabled') ? values.disabled : undefined,
    })
    return isNew ? { data: { aliases: null, id: entity.id, name: entity.name } } : undefined
  }
  const find = {
    id: ({ request, values }: EntityCall) => directory.findById(request.namespace.id, values.id),
    name: ({ request, values }: EntityCall) => directory.findByName(request.namespace.id, values.name),
  }
  const by = (key: 'id' | 'name'): PathSpec[] => [
    definePath(`entity/${key}/?`, {}, `List the entities by ${key}.`, {
      list: async ({ request }) =>
        detailed(
          await directory.list(request.namespace.id),
          (entity) => entity[key],
          (entity) => listedEntity(entity, key, directory),
        ),
    }),
    definePath(`entity/${key}/:${key}`, ENTITY_FIELDS, `Read, change or delete an entity by ${key}.`, {
      read: (call) => shown(find[key](call), (entity) => entityData(entity, directory)),
      update: write,
      delete: async (call) => {
        const entity = find[key](call)
        // Runs even if the entity is missing: on a secondary, the entity may not have replicated yet, so the primary
        // decides.
        await directory.removeEntity(call.request.namespace.id, entity?.id ?? '')
        return undefined
      },
    }),
  ]
  return [
    definePath('entity', ENTITY_FIELDS, 'Create an entity, or change an existing one.', { update: write }),
    definePath('entity/batch-delete', BATCH_FIELDS, 'Delete several entities.', {
      update: async ({ request, values }) => {
        for (const id of values.entity_ids) await directory.removeEntity(request.namespace.id, id)
        return undefined
      },
    }),
    ...by('id'),
    ...by('name'),
  ]
}

/** Returns the response of a list with details, sorted by key. */
const detailed = <T>(items: readonly T[], keyOf: (item: T) => string, infoOf: (item: T) => object): Response => {
  const sorted = [...items].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const info = Object.fromEntries(sorted.map((item) => [keyOf(item), infoOf(item)]))
  return { data: { key_info: info, keys: sorted.map(keyOf) } }
}

const ALIAS_FIELDS = {
  id: string('ID of the alias to change.'),
  name: string('Name of the client in the auth method, for example a RoleID or a user name.'),
  mount_accessor: string('Accessor of the auth mount.'),
  canonical_id: string('ID of the entity. Default: a new entity.'),
  entity_id: string('Deprecated name of canonical_id.', '', { isDeprecated: true }),
  custom_metadata: pairs('Custom metadata of the alias. Replaces the existing metadata.'),
} as const

type AliasCall = Call<typeof ALIAS_FIELDS>

/** Creates the paths of identity/entity-alias. An alias is the name of an entity in an auth method. */
const aliasPaths = (directory: EntityDirectory): PathSpec[] => {
  const aliasesOf = (entity: Entity) => entity.aliases.map((alias) => ({ alias, entity }))
  const write = async ({ request, values, supplied }: AliasCall): Promise<Response> => {
    const { alias, entity } = await directory.putAlias({
      namespaceId: request.namespace.id,
      id: values.id || undefined,
      name: cleanName(values.name),
      mountAccessor: values.mount_accessor || undefined,
      canonicalId: values.canonical_id || values.entity_id || undefined,
      customMetadata: supplied('custom_metadata') ? cleanTexts(values.custom_metadata) : undefined,
    })
    return { data: { canonical_id: entity.id, id: alias.id } }
  }
  return [
    definePath('entity-alias', ALIAS_FIELDS, 'Create an alias, or change an existing one.', { update: write }),
    definePath('entity-alias/id/?', {}, 'List the aliases.', {
      list: async ({ request }) =>
        detailed(
          (await directory.list(request.namespace.id)).flatMap(aliasesOf),
          ({ alias }) => alias.id,
          ({ alias, entity }) => listedAlias(alias, entity, directory),
        ),
    }),
    definePath('entity-alias/id/:id', ALIAS_FIELDS, 'Read, change or delete an alias by its ID.', {
      read: ({ request, values }) => {
        const found = directory.findByAliasId(request.namespace.id, values.id)
        const own = found && aliasesOf(found).find(({ alias }) => alias.id === values.id)
        return shown(own, ({ alias, entity }) => singleAliasData(alias, entity, directory))
      },
      update: write,
      delete: async ({ request, values }) => void (await directory.removeAlias(request.namespace.id, values.id)),
    }),
  ]
}

/** Creates the backend for entities and aliases, which logins and operators create. */
export const createIdentityBackend = (directory: EntityDirectory): Backend => ({
  type: 'identity',
  paths: [...entityPaths(directory), ...aliasPaths(directory), ...lookupPaths(directory)],
})

const FIELDS = {
  id: string('ID of the entity.'),
  name: string('Name of the entity.'),
  alias_id: string('ID of an alias of the entity.'),
  alias_name: string('Name of an alias of the entity. Requires alias_mount_accessor.'),
  alias_mount_accessor: string('Accessor of the mount of the alias.'),
} as const

/** Creates the path identity/lookup/entity. Its response is 204 if no entity matches. */
const lookupPaths = (directory: EntityDirectory): PathSpec[] => [
  definePath('lookup/entity', FIELDS, 'Look up an entity by ID, name or alias.', {
    update: (call) => shown(find(call, directory), (entity) => entityData(entity, directory)),
  }),
]

const find = ({ request, values }: Call<typeof FIELDS>, directory: EntityDirectory): Entity | undefined => {
  const { id: namespaceId } = request.namespace
  const { id, name, alias_id: aliasId, alias_name: aliasName, alias_mount_accessor: mountAccessor } = values
  const criteria = [id, name, aliasId, aliasName || mountAccessor].filter((text) => text !== '')
  if (criteria.length === 0) throw invalid('query parameters not supplied')
  if (criteria.length > 1) throw invalid('query parameter conflict; please supply distinct set of query parameters')
  if (id !== '') return directory.findById(namespaceId, id)
  if (name !== '') return directory.findByName(namespaceId, name)
  if (aliasId !== '') return directory.findByAliasId(namespaceId, aliasId)
  if (aliasName === '' || mountAccessor === '') {
    throw invalid("both 'alias_name' and 'alias_mount_accessor' needs to be set")
  }
  return directory.findByAlias({ namespaceId, mountAccessor, name: aliasName })
}
