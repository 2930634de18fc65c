import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { bool, commaList, pairs, string, stringList } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { cleanName, cleanPolicies, cleanTexts, entityData, listedEntity } from './view.js'
import type { Entity, EntityDirectory } from '../../logical/identity.js'

const FIELDS = {
  id: string('The entity to be changed.'),
  name: string('Name of the entity; a random one unless given.'),
  metadata: pairs('Texts about the entity, which replace those that it has.'),
  policies: commaList('Policies that all tokens of the entity have beside their own.'),
  disabled: bool('Tokens of a disabled entity are refused, but not revoked.'),
} as const

const BATCH_FIELDS = { entity_ids: stringList('The entities to be deleted.') } as const

type EntityCall = Call<typeof FIELDS>

/** Creates identity/entity: entities, and the policies they add to those of their logins. */
export const entityPaths = (directory: EntityDirectory): PathSpec[] => {
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
    definePath({
      pattern: `entity/${key}/?`,
      summary: `Lists the entities by ${key}.`,
      operations: { list: async ({ request }) => listed(await directory.list(request.namespace.id), key, directory) },
    }),
    definePath({
      pattern: `entity/${key}/:${key}`,
      fields: FIELDS,
      summary: `An entity by its ${key}.`,
      operations: {
        read: (call) => {
          const entity = find[key](call)
          return entity && { data: entityData(entity, directory) }
        },
        update: write,
        delete: async (call) => {
          const entity = find[key](call)
          // The primary decides: a missing entity may not have replicated yet.
          await directory.removeEntity(call.request.namespace.id, entity?.id ?? '')
          return undefined
        },
      },
    }),
  ]
  return [
    definePath({
      pattern: 'entity',
      fields: FIELDS,
      summary: 'Makes an entity, or changes the one of an id or a name.',
      operations: { update: write },
    }),
    definePath({
      pattern: 'entity/batch-delete',
      fields: BATCH_FIELDS,
      summary: 'Deletes several entities.',
      operations: {
        update: async ({ request, values }) => {
          for (const id of values.entity_ids) await directory.removeEntity(request.namespace.id, id)
          return undefined
        },
      },
    }),
    ...by('id'),
    ...by('name'),
  ]
}

const listed = (entities: readonly Entity[], key: 'id' | 'name', directory: EntityDirectory): Response => {
  const sorted = [...entities].sort((a, b) => (a[key] < b[key] ? -1 : 1))
  const info = sorted.map((entity) => [entity[key], listedEntity(entity, key, directory)])
  return { data: { key_info: Object.fromEntries(info), keys: sorted.map((entity) => entity[key]) } }
}
