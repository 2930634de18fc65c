import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { pairs, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { cleanName, cleanTexts, listedAlias, singleAliasData } from './view.js'
import type { EntityDirectory } from '../../logical/identity.js'

const FIELDS = {
  id: string('ID of the alias to change.'),
  name: string('Name of the client in the auth method, for example a RoleID or a user name.'),
  mount_accessor: string('Accessor of the auth mount.'),
  canonical_id: string('ID of the entity. Default: a new entity.'),
  entity_id: string('Deprecated name of canonical_id.', '', { isDeprecated: true }),
  custom_metadata: pairs('Custom metadata of the alias. Replaces the existing metadata.'),
} as const

type AliasCall = Call<typeof FIELDS>

/** Creates identity/entity-alias: the names by which auth methods know an entity. */
export const aliasPaths = (directory: EntityDirectory): PathSpec[] => {
  const find = ({ request, values }: AliasCall) => {
    const entity = directory.findByAliasId(request.namespace.id, values.id)
    const alias = entity?.aliases.find(({ id }) => id === values.id)
    return entity && alias && { alias, entity }
  }
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
    definePath('entity-alias', FIELDS, 'Create an alias, or change an existing one.', { update: write }),
    definePath('entity-alias/id/?', {}, 'List the aliases.', {
      list: async ({ request }) => {
        const entities = await directory.list(request.namespace.id)
        const all = entities.flatMap((entity) => entity.aliases.map((alias) => ({ alias, entity })))
        const sorted = all.sort((a, b) => (a.alias.id < b.alias.id ? -1 : 1))
        const info = sorted.map(({ alias, entity }) => [alias.id, listedAlias(alias, entity, directory)])
        return { data: { key_info: Object.fromEntries(info), keys: sorted.map(({ alias }) => alias.id) } }
      },
    }),
    definePath('entity-alias/id/:id', FIELDS, 'Read, change or delete an alias by its ID.', {
      read: (call) => {
        const found = find(call)
        return found && { data: singleAliasData(found.alias, found.entity, directory) }
      },
      update: write,
      delete: async ({ request, values }) => void (await directory.removeAlias(request.namespace.id, values.id)),
    }),
  ]
}
