import { invalid, wrapErrorText } from '../../logical/errors.js'
import type { Entity, EntityAlias, EntityMerge } from '../../logical/identity.js'
import type { Transaction } from '../../logical/storage.js'
import { removeMember } from './group-record.js'
import { ENTITIES } from './identity-record.js'

/** Merges entities. Tokens of the sources become tokens of the target. Policies and metadata do not change. */
export const mergeEntities = (tx: Transaction, merge: EntityMerge, nowMs: number): void => {
  const { namespaceId, targetId, sourceIds, keptAliasIds } = merge
  const target = ENTITIES.findById(tx, namespaceId, targetId)
  if (!target) throw invalid('entity id to merge to is invalid')
  if (sourceIds.length > 1 && keptAliasIds.length > 1) {
    throw invalid('aliases conflicts cannot be resolved with multiple from entity ids - merge one entity at a time')
  }
  if (sourceIds.includes(targetId)) throw invalid('to_entity_id should not be present in from_entity_ids')
  const sources = sourceIds.map((id) => {
    const source = ENTITIES.findById(tx, namespaceId, id)
    if (!source) throw invalid('entity id to merge from is invalid')
    return source
  })
  const aliases = mergeAliases(target, sources, keptAliasIds)
  const mergedIds = [...(target.mergedIds ?? []), ...sources.flatMap(({ id, mergedIds = [] }) => [...mergedIds, id])]
  for (const source of sources) {
    removeMember(tx, source.id, nowMs, target.id)
    ENTITIES.replace(tx, source, undefined)
  }
  ENTITIES.replace(tx, target, { ...target, aliases, mergedIds, updatedAtMs: nowMs })
}

/** Returns the aliases of the target after the merge. */
const mergeAliases = (target: Entity, sources: readonly Entity[], keptIds: readonly string[]): EntityAlias[] => {
  const byMount = new Map(target.aliases.map((alias) => [alias.mountAccessor, { alias, owner: target }]))
  const clashes: string[] = []
  for (const owner of sources) {
    for (const alias of owner.aliases) {
      const rival = byMount.get(alias.mountAccessor)
      if (rival && keptIds.includes(rival.alias.id)) continue
      if (rival && !keptIds.includes(alias.id)) clashes.push(clashOf(rival, { alias, owner }, keptIds))
      const mergedFromIds = [...(alias.mergedFromIds ?? []), owner.id]
      byMount.set(alias.mountAccessor, { alias: { ...alias, mergedFromIds }, owner })
    }
  }
  if (clashes.length > 0) throw invalid(wrapErrorText(CLASH, ...clashes))
  return [...byMount.values()].map(({ alias }) => alias)
}

const CLASH =
  'toEntity and at least one fromEntity have aliases with the same mount accessor, repeat the merge request ' +
  'specifying exactly one fromEntity, clashes: '

interface OwnedAlias {
  readonly alias: EntityAlias
  readonly owner: Entity
}

/** Returns the description of a clash. Throws LogicalError 400 if the merge keeps other aliases. */
const clashOf = (to: OwnedAlias, from: OwnedAlias, keptIds: readonly string[]): string => {
  if (keptIds.length > 0) {
    throw invalid(
      'conflicting mount accessors in following alias IDs and neither were present in ' +
        `conflicting_alias_ids_to_keep: ${from.alias.id}, ${to.alias.id}`,
    )
  }
  return (
    `mountAccessor: ${to.alias.mountAccessor}, toEntity ID: ${to.owner.id}, fromEntity ID: ${from.owner.id}, ` +
    `conflicting toEntity alias ID: ${to.alias.id}, conflicting fromEntity alias ID: ${from.alias.id}`
  )
}
