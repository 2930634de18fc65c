import { LIMITS } from '../../base/limits.js'
import { invalid, notFound, unsupportedPath } from '../../logical/errors.js'
import type { Response } from '../../logical/request.js'
import type { ReplicationContext } from '../roles/context.js'
import { checkIsPrimary, isValidId } from '../roles/decide-primary.js'
import { type FilterRule, findSingleton, findUnknown, normalizePath, normalizePaths } from '../model/compile-filter.js'
import { GUARDS } from '../model/guard-texts.js'
import { filterIdOf } from '../roles/primary-role.js'
import { orThrow } from '../roles/role-records.js'
import { ownFilterId } from '../roles/secondary-role.js'
import { isCopy, type PrimaryRecord } from '../model/state.js'
import { WARNINGS } from '../roles/texts.js'

/**
 * The API operations of path filters, and of the dynamic lists: mounts and namespaces that a rule covers without naming
 * them.
 */

export const putFilter = async (
  context: ReplicationContext,
  id: string,
  fields: { readonly mode: string; readonly paths: readonly string[] },
): Promise<Response | undefined> => {
  const { host, filters } = context
  const { record, secondaryId } = resolve(context, id)
  const rule = parseRule(context, fields)
  const stored = filterIdOf(record, secondaryId, filters)
  await filters.put(secondaryId, rule, stored)
  host.log.info('paths filter changed', { secondary: secondaryId, mode: rule.mode, paths: rule.paths.length })
  const warnings = warningsOf(context, fields.paths, rule)
  return warnings.length === 0 ? undefined : { data: null, warnings }
}

/**
 * Returns warnings for paths that match no mount or namespace, and a warning if the rule therefore withholds everything
 * or nothing from the secondary.
 */
const warningsOf = ({ host }: ReplicationContext, given: readonly string[], { mode, paths }: FilterRule): string[] => {
  const ignored = [...new Set(given.filter((path) => normalizePath(path) === undefined))]
  const unknown = findUnknown(paths, host.mounts(), host.namespaces())
  const warnings = [...ignored.map(WARNINGS.ignoredPath), ...unknown.map(WARNINGS.unknownPath)]
  if (unknown.length < paths.length) return warnings
  return [...warnings, mode === 'allow' ? WARNINGS.allowsNothing : WARNINGS.deniesNothing]
}

export const readFilter = (context: ReplicationContext, id: string): Response => {
  const { record, secondaryId } = resolve(context, id)
  const rule = context.filters.find(filterIdOf(record, secondaryId, context.filters))
  if (!rule) throw notFound()
  return { data: { mode: rule.mode, paths: [...rule.paths] } }
}

export const deleteFilter = async (context: ReplicationContext, id: string): Promise<undefined> => {
  const { filters } = context
  const { record, secondaryId } = resolve(context, id)
  const stored = filterIdOf(record, secondaryId, filters)
  if (filters.find(stored)) await filters.delete(stored)
  return undefined
}

export const readDynamicOnPrimary = (context: ReplicationContext, id: string): Response => {
  const { record, secondaryId } = resolve(context, id)
  return dynamicLists(context, filterIdOf(record, secondaryId, context.filters))
}

/**
 * Returns the dynamic lists of this secondary. `id` may be its secondary ID, its cluster ID or the ID of its set.
 * Throws LogicalError 400 on other clusters, 404 for another ID.
 */
export const readDynamicOnSecondary = (context: ReplicationContext, id: string): Response => {
  const { host, roles, filters } = context
  const record = roles.record('performance')
  if (record.mode !== 'secondary') throw invalid(GUARDS.notSecondary('performance'))
  if (![record.secondaryId, host.identity.clusterId, record.setId].includes(id) || !isCopy(record)) throw notFound()
  return dynamicLists(context, ownFilterId(record, host, filters))
}

const dynamicLists = ({ filters }: ReplicationContext, filterId: string): Response => {
  const compiled = filters.compiled(filterId)
  if (!compiled) throw notFound()
  return {
    data: {
      dynamic_filtered_mounts: [...compiled.dynamicMounts],
      dynamic_filtered_namespaces: [...compiled.dynamicNamespaces],
    },
  }
}

const parseRule = (
  { host }: ReplicationContext,
  { mode, paths }: { readonly mode: string; readonly paths: readonly string[] },
): FilterRule => {
  if (mode !== 'allow' && mode !== 'deny') throw invalid(GUARDS.invalidFilterMode)
  if (paths.length > LIMITS.filterPathsMax) throw invalid(GUARDS.tooManyPaths(LIMITS.filterPathsMax))
  const normal = normalizePaths(paths)
  const singleton = findSingleton(normal, host.mounts(), host.namespaces())
  if (singleton !== undefined) throw invalid(GUARDS.cannotFilter(singleton))
  return { mode, paths: normal }
}

/**
 * Returns the secondary that `id` names. `id` is a secondary ID, a cluster ID, or the ID of the set if only one
 * secondary is registered. An unknown ID is accepted for a secondary that registers later. Throws LogicalError 400
 * unless this cluster is a performance primary, and for an ambiguous ID.
 */
const resolve = (context: ReplicationContext, id: string): { record: PrimaryRecord; secondaryId: string } => {
  const { roles } = context
  orThrow(checkIsPrimary('performance', roles.facts()))
  const record = roles.record('performance')
  if (record.mode !== 'primary') throw invalid(GUARDS.notPrimary('performance'))
  if (!isValidId(id)) throw unsupportedPath()
  return { record, secondaryId: resolveId(record, id) }
}

const resolveId = (record: PrimaryRecord, id: string): string => {
  const { registrations } = record
  if (registrations.some((row) => row.id === id)) return id
  const meant = id === record.setId ? registrations : registrations.filter((row) => row.clusterId === id)
  const [only] = meant
  if (only && meant.length === 1) return only.id
  if (meant.length === 0 && id !== record.setId) return id
  throw invalid(GUARDS.ambiguousId(id, meant.map((row) => row.id).sort()))
}
