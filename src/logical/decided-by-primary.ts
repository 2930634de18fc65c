import type { BackendContext } from './backend.js'
import { LogicalError } from './errors.js'
import type { Storage } from './storage.js'

/** For a write that is not made here: the request goes to the performance primary as a whole. */
export const readOnly = (): LogicalError => new LogicalError('read-only', 'cannot write to readonly storage')

/**
 * The storage of a mount whose writes are decided by the performance primary: elsewhere one is refused before it decides
 * anything, since what it would decide upon may be behind.
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
