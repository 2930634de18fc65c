import type { BackendContext } from './backend.js'
import { readOnly } from './errors.js'
import type { Storage } from './storage.js'

/**
 * Returns storage for a mount whose writes only the performance primary may decide. On other clusters a write fails
 * before it reads any data, because local data may be older than that of the primary.
 */
export const decidedByPrimary = ({ storage, isReadOnly }: Pick<BackendContext, 'storage' | 'isReadOnly'>): Storage => ({
  get: (key) => storage.get(key),
  has: (key) => storage.has(key),
  list: (prefix, options) => storage.list(prefix, options),
  keys: (prefix, options) => storage.keys(prefix, options),
  async write(fn) {
    if (isReadOnly()) throw readOnly()
    return storage.write(fn)
  },
})
