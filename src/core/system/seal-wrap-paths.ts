/** sys/sealwrap/rewrap: encrypts the entries that the seal has encrypted again, with its current key. */
import { definePath, type PathSpec } from '../../logical/backend.js'
import type { SealManager } from '../seal/seal-manager.js'

export const sealWrapPaths = (seal: Pick<SealManager, 'keys' | 'rootKey'>): PathSpec[] => {
  let entries = { processed: 0, succeeded: 0, failed: 0 }
  let isRunning = false
  const run = async () => {
    isRunning = true
    try {
      const processed = seal.rootKey ? await seal.keys.rewrap(seal.rootKey) : 0
      entries = { processed, succeeded: processed, failed: 0 }
    } catch {
      entries = { processed: 1, succeeded: 0, failed: 1 }
    } finally {
      isRunning = false
    }
  }
  return [
    definePath('sealwrap/rewrap', {}, 'Encrypt the entries of the seal with its current key.', {
      read: () => ({ data: { entries, is_running: isRunning } }),
      update: async () => {
        if (isRunning) return { status: 200 }
        await run()
        return undefined
      },
    }),
  ]
}
