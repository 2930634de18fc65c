import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { bool, commaList, pairs, string, stringList } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { cleanName, cleanPolicies, cleanTexts, entityData, listedEntity } from './view.js'
import type { Entity, EntityDirectory } from '../../logical/identity.js'

const FIELDS = {
  id: string('ID of the entity to change.'),
  name: string('Name of the entity. Default: a random name.'),
  metadata: pairs('Metadata of the entity. Replaces the existing metadata.'),
  policies: commaList('Policies that the entity adds to all its tokens.'),
  disabled: bool('Disables the entity: its tokens are rejected, but not revoked.'),
} as const

const BATCH_FIELDS = { entity_ids: stringList('IDs of the entities to delete.') } as const

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
    definePath(`entity/${key}/?`, {}, `List the entities by ${key}.`, {
      list: async ({ request }) => listed(await directory.list(request.namespace.id), key, directory),
    }),
    definePath(`entity/${key}/:${key}`, FIELDS, `Read, change or delete an entity by ${key}.`, {
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
    }),
  ]
  return [
    definePath('entity', FIELDS, 'Create an entity, or change an existing one.', { update: write }),
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

const listed = (entities: readonly Entity[], key: 'id' | 'name', directory: EntityDirectory): Response => {
  const sorted = [...entities].sort((a, b) => (a[key] < b[key] ? -1 : 1))
  const info = sorted.map((entity) => [entity[key], listedEntity(entity, key, directory)])
  return { data: { key_info: Object.fromEntries(info), keys: sorted.map((entity) => entity[key]) } }
}
