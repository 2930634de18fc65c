import type { BackendContext } from './backend.js'
import { readOnly } from './errors.js'
import type { Storage } from './storage.js'

/**
 * Throws the error of a read-only cluster, so that the request is forwarded to the primary. For handlers that create
 * keys or call other servers before the write.
 */
export const requirePrimary = ({ isReadOnly }: Pick<BackendContext, 'isReadOnly'>): void => {
  if (isReadOnly()) throw readOnly()
}

/**
 * Returns storage for a mount whose writes only the performance primary may decide. On other clusters a write fails
 * before it reads any data, because local data may be older than that of the primary.
 */
export const decidedByPrimary = (context: Pick<BackendContext, 'storage' | 'isReadOnly'>): Storage => ({
  get: (key) => context.storage.get(key),
  has: (key) => context.storage.has(key),
  list: (prefix, options) => context.storage.list(prefix, options),
  keys: (prefix, options) => context.storage.keys(prefix, options),
  async write(fn) {
    requirePrimary(context)
    return context.storage.write(fn)
  },
})
