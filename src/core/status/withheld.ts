import type { JsonObject } from '../../logical/json.js'
import type { Request, Withheld } from '../../logical/request.js'

/** The status fields that a listener may withhold. */
const FIELDS: ReadonlyMap<string, Withheld> = new Map([
  ['leader_address', 'addresses'],
  ['leader_cluster_address', 'addresses'],
  ['cluster_name', 'cluster-name'],
  ['version', 'version'],
  ['build_date', 'version'],
])

/**
 * Removes the fields that the request's listener withholds from the body of a status response. They become empty strings;
 * the cluster name is omitted, as Vault omits an empty one.
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
