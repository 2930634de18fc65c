import type { ReplicationContext } from './context.js'
import type { CompiledFilter } from '../model/compile-filter.js'
import { ownFilterId } from './secondary-role.js'
import { isCopy } from '../model/state.js'

/**
 * Returns the filter of this performance secondary, or of the one it is a DR copy of; undefined if nothing is withheld.
 */
export const findOwnFilter = ({ host, roles, filters, running }: ReplicationContext): CompiledFilter | undefined => {
  const record = roles.record('performance')
  if (!isCopy(record)) return undefined
  const original = running.dr.follower?.primary?.clusterId ?? ''
  const id = ownFilterId(record, host, filters)
  return filters.compiled(id) ?? (original === '' ? undefined : filters.compiled(original))
}
