import {
  type Backend,
  type BackendContext,
  type BackendType,
  type Call,
  definePath,
  listed,
  type PathSpec,
} from '../../logical/backend.js'
import { decidedByPrimary } from '../../logical/decided-by-primary.js'
import { invalid, unsupportedOperation } from '../../logical/errors.js'
import type { Operation, Request, Response } from '../../logical/request.js'
import { configPaths, ConfigStore } from './config.js'
import { dataPaths, findVersion } from './data.js'
import { metadataPaths } from './metadata-paths.js'
import { versionPaths } from './versions.js'
import { int, string } from '../../logical/fields.js'
import { type JsonObject, type JsonValue, parseJson, parseJsonBytes, storedJson } from '../../logical/json.js'
import { parseDurationMs } from '../../base/duration.js'
import { printDocument } from '../../logical/document.js'
import { isJsonObject, type RawJson } from '../../base/json.js'
import { asFolder } from '../../logical/storage.js'
import { V1_PREFIX } from './layout.js'

/** Creates KV version 2 if the option `version` of the mount is `2`, otherwise version 1. */
const createKv = (context: BackendContext): Backend =>
  context.mount.options.version === '2' ? createKvV2(context) : createKvV1(context)

export const kvType: BackendType = { name: 'kv', kind: 'secret', factory: createKv, localPrefixes: [] }

/**
 * Creates KV version 2. Only the performance primary can decide writes, because writes depend on the existing versions,
 * which may not have replicated to a secondary yet.
 */
export const createKvV2 = (given: BackendContext): Backend => {
  const context = { ...given, storage: decidedByPrimary(given) }
  const config = new ConfigStore(context.storage)
  return {
    type: 'kv',
    paths: [
      ...dataPaths(context, config),
      ...metadataPaths(context, config),
      ...versionPaths(context),
      ...subkeyPaths(context),
      ...configPaths(config),
    ],
    fallback: explainPath,
    invalidate: (key) => config.invalidate(key),
  }
}

/** The command of the CLI that error messages recommend instead of an invalid path, by operation. */
const COMMANDS: { readonly [O in Operation]?: string } = {
  create: 'put',
  update: 'put',
  read: 'get',
  list: 'list',
  delete: 'delete',
}

const ROOTS = new Set(['data', 'metadata', 'delete', 'undelete', 'destroy'])

const explainPath = ({ operation }: Request, path: string): Response => {
  const command = COMMANDS[operation]
  if (command === undefined) throw unsupportedOperation()
  const warning = ROOTS.has(path)
    ? 'Non-listing operations on the root of a K/V v2 mount are not supported.'
    : 'Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints to use. ' +
      `If using the Vault CLI, use 'vault kv ${command}' for this operation.`
  return { status: 404, warnings: [warning] }
}

const FIELDS = {
  path: string('Location of the secret.'),
  version: int('Version to read; 0 means the latest.'),
  depth: int('Number of levels to show; 0 means all.'),
}

/** Returns the paths of the structure of a secret, without its values. */
const subkeyPaths = ({ storage, clock }: BackendContext): PathSpec[] => [
  definePath('subkeys/*path', FIELDS, 'Read the keys of a secret, with null for every value.', {
    read: ({ values }: Call<typeof FIELDS>): Response | undefined => {
      const found = findVersion(storage, values.path, values.version, clock.now())
      if (!found) return undefined
      if (found.stored === undefined) return { status: 404, data: { metadata: found.description, subkeys: null } }
      const data = parseJsonBytes(found.stored)
      const subkeys = isJsonObject(data) ? withoutValues(data, values.depth, 1) : null
      return { data: { metadata: found.description, subkeys } }
    },
  }),
]

const withoutValues = (data: JsonObject, depthMax: number, depth: number): JsonObject => {
  const keys: JsonObject = Object.create(null)
  for (const [key, value] of Object.entries(data)) {
    const isShown = isJsonObject(value) && depth !== depthMax && Object.keys(value).length > 0
    keys[key] = isShown ? withoutValues(value, depthMax, depth + 1) : null
  }
  return keys
}

/**
 * KV version 1: one object per path. The stored value is the JSON text of the request. A read returns this text, which
 * preserves the spelling of numbers and avoids parsing.
 */
const V1_FIELDS = { path: string('Location of the secret.') }

export const createKvV1 = ({ storage, mount }: BackendContext): Backend => {
  const write = async ({ values: { path }, request }: Call<typeof V1_FIELDS>): Promise<undefined> => {
    if (path === '') throw invalid('missing path')
    if (Object.keys(request.data).length === 0) throw invalid('missing data fields')
    const document = await printDocument(request.data)
    return storage.write((tx) => void tx.put(V1_PREFIX + path, document.take()))
  }

  return {
    type: 'kv',
    paths: [
      definePath('*path', V1_FIELDS, 'Read, write, delete or list secrets.', {
        read: ({ values: { path } }) => {
          const value = storage.get(V1_PREFIX + path)
          if (!value) return undefined
          const data = storedJson(value)
          return { data, leaseDurationSeconds: findLeaseSeconds(data) ?? mount.defaultLeaseTtlSeconds }
        },
        create: write,
        update: write,
        delete: ({ values: { path } }) => storage.write((tx) => void tx.delete(V1_PREFIX + path)),
        list: ({ values: { path } }) => listed(storage.list(V1_PREFIX + asFolder(path))),
        exists: ({ values: { path } }) => storage.has(V1_PREFIX + path),
        takesAnyField: true,
      }),
    ],
  }
}

/** Returns the field `ttl`, otherwise `lease`, of the stored object in seconds; undefined if absent or invalid. */
const findLeaseSeconds = (document: RawJson): number | undefined => {
  const { source } = document
  if (!source.includes('"ttl"') && !source.includes('"lease"')) return undefined
  const stored = parseJson(document.text) as Record<string, JsonValue>
  const lease = 'ttl' in stored ? stored.ttl : stored.lease
  if (typeof lease === 'number') return Number.isInteger(lease) && lease >= 0 ? lease : undefined
  if (typeof lease !== 'string') return undefined
  const ms = lease === '' ? 0 : parseDurationMs(lease)
  return ms === undefined || ms < 0 ? undefined : ms / 1000
}
