/**
 * KV version 1: one object per path. The stored value is the JSON text as sent. A read returns that text, which preserves
 * the spelling of numbers and avoids parsing.
 */
import { parseDurationMs } from '../../base/duration.js'
import { type Backend, type BackendContext, type Call, definePath } from '../../logical/backend.js'
import { printDocument } from '../../logical/document.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { RawJson } from '../../base/json.js'
import { type JsonValue, storedJson } from '../../logical/json.js'
import { parseJson } from '../../logical/json-text.js'
import type { Response } from '../../logical/request.js'
import { folder, V1_PREFIX } from './layout.js'

const FIELDS = { path: string('Location of the secret.') }

type V1Call = Call<typeof FIELDS>

export const createKvV1 = ({ storage, mount }: BackendContext): Backend => {
  const read = ({ values: { path } }: V1Call): Response | undefined => {
    const value = storage.get(V1_PREFIX + path)
    if (!value) return undefined
    const data = storedJson(value)
    return { data, leaseDurationSeconds: findLeaseSeconds(data) ?? mount.defaultLeaseTtlSeconds }
  }

  const write = async ({ values: { path }, request }: V1Call): Promise<undefined> => {
    if (path === '') throw invalid('missing path')
    if (Object.keys(request.data).length === 0) throw invalid('missing data fields')
    const document = await printDocument(request.data)
    return storage.write((tx) => {
      tx.put(V1_PREFIX + path, document.take())
      return undefined
    })
  }

  const remove = ({ values: { path } }: V1Call): Promise<undefined> =>
    storage.write((tx) => {
      tx.delete(V1_PREFIX + path)
      return undefined
    })

  const list = async ({ values: { path } }: V1Call): Promise<Response | undefined> => {
    const keys = await storage.list(V1_PREFIX + folder(path))
    return keys.length === 0 ? undefined : { data: { keys } }
  }

  return {
    type: 'kv',
    paths: [
      definePath({
        pattern: '*path',
        fields: FIELDS,
        operations: { read, create: write, update: write, delete: remove, list },
        exists: ({ values: { path } }) => storage.has(V1_PREFIX + path),
        summary: 'Secrets of this mount.',
        takesAnyField: true,
      }),
    ],
  }
}

/** Returns the seconds in the field `ttl`, or else `lease`, of the stored object; undefined if absent or invalid. */
const findLeaseSeconds = (document: RawJson): number | undefined => {
  const { source } = document
  if (!source.includes('"ttl"') && !source.includes('"lease"')) return undefined
  const stored = parseJson(document.text) as Record<string, JsonValue>
  const wish = 'ttl' in stored ? stored.ttl : stored.lease
  if (typeof wish === 'number') return Number.isInteger(wish) && wish >= 0 ? wish : undefined
  if (typeof wish !== 'string') return undefined
  const ms = wish === '' ? 0 : parseDurationMs(wish)
  return ms === undefined || ms < 0 ? undefined : ms / 1000
}
