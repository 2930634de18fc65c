import type { JsonObject } from '../../logical/json.js'
import type { Request, Withheld } from '../../logical/request.js'

/** The fields of status answers that a listener may withhold. */
const FIELDS: ReadonlyMap<string, Withheld> = new Map([
  ['leader_address', 'addresses'],
  ['leader_cluster_address', 'addresses'],
  ['cluster_name', 'cluster-name'],
  ['version', 'version'],
  ['build_date', 'version'],
])

/**
 * The body of a status answer without what the listener of `request` withholds: empty text instead. The name of the cluster
 * is left out, as the reference leaves out an empty one.
 */
export const withhold = (body: JsonObject, { withheld = [] }: Pick<Request, 'withheld'>): JsonObject => {
  if (withheld.length === 0) return body
  const shown: JsonObject = {}
  for (const [name, value] of Object.entries(body)) {
    const field = FIELDS.get(name)
    if (!field || !withheld.includes(field)) shown[name] = value
    else if (field !== 'cluster-name') shown[name] = ''
  }
  return shown
}
