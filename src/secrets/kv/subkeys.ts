/** The structure of a version 2 secret, without its values. */
import { type BackendContext, type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { int, string } from '../../logical/fields.js'
import type { JsonObject } from '../../logical/json.js'
import { parseJsonBytes } from '../../logical/json-text.js'
import type { Response } from '../../logical/request.js'
import { findVersion } from './data.js'
import { isObject } from './merge-patch.js'

const FIELDS = {
  path: string('Location of the secret.'),
  version: int('Which version to read; 0 is the latest.'),
  depth: int('How many levels to show; 0 is all.'),
}

export const subkeyPaths = ({ storage, clock }: BackendContext): PathSpec[] => [
  definePath({
    pattern: 'subkeys/*path',
    fields: FIELDS,
    operations: {
      read: ({ values }: Call<typeof FIELDS>): Response | undefined => {
        const found = findVersion(storage, values.path, values.version, clock.now())
        if (!found) return undefined
        if (found.stored === undefined) return { status: 404, data: { metadata: found.description, subkeys: null } }
        const data = parseJsonBytes(found.stored)
        const subkeys = isObject(data) ? withoutValues(data, values.depth, 1) : null
        return { data: { metadata: found.description, subkeys } }
      },
    },
    summary: 'The keys of a secret, with null for every value.',
  }),
]

const withoutValues = (data: JsonObject, depthMax: number, depth: number): JsonObject => {
  const keys: JsonObject = Object.create(null)
  for (const [key, value] of Object.entries(data)) {
    const isShown = isObject(value) && depth !== depthMax && Object.keys(value).length > 0
    keys[key] = isShown ? withoutValues(value, depthMax, depth + 1) : null
  }
  return keys
}
