import { type Backend, type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { aliasPaths } from './alias-paths.js'
import { entityData } from './view.js'
import type { Entity, EntityDirectory } from '../../logical/identity.js'
import { entityPaths } from './entity-paths.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'

/** Creates the backend of the identity store: entities and aliases, created by logins or by operators. */
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

type LookupCall = Call<typeof FIELDS>

/** Creates identity/lookup/entity, which finds an entity by ID, name or alias; 204 if there is none. */
const lookupPaths = (directory: EntityDirectory): PathSpec[] => [
  definePath('lookup/entity', FIELDS, 'Look up an entity by ID, name or alias.', {
    update: (call) => {
      const entity = find(call, directory)
      return entity && { data: entityData(entity, directory) }
    },
  }),
]

const find = ({ request, values }: LookupCall, directory: EntityDirectory): Entity | undefined => {
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
