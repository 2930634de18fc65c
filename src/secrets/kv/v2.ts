/** KV version 2: versioned secrets. Requests to version 1 paths are answered with a hint. */
import type { Backend, BackendContext } from '../../logical/backend.js'
import { decidedByPrimary } from '../../logical/decided-by-primary.js'
import { unsupportedOperation } from '../../logical/errors.js'
import type { Operation, Request, Response } from '../../logical/request.js'
import { ConfigStore, configPaths } from './config.js'
import { dataPaths } from './data.js'
import { metadataPaths } from './metadata-paths.js'
import { subkeyPaths } from './subkeys.js'
import { versionPaths } from './versions.js'

/**
 * Creates KV version 2. The performance primary decides writes: they depend on the existing versions, and a secondary may
 * lag behind.
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

/** The command that would have used the correct path, by operation. */
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
