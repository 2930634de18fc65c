import { rmSync } from 'node:fs'
import { makeTemporaryDirectory } from '../../base/temporary-directory.js'
import { LevelEngine } from '../../storage/engine/level-engine.js'

/**
 * Checks that LevelDB works: writes and reads one record in a temporary directory below `parent`. Rejects with the
 * reason of a failure.
 */
export const probeStorage = async (parent: string): Promise<void> => {
  const directory = makeTemporaryDirectory('probe', parent)
  try {
    const engine = await LevelEngine.open({ directory, createIfMissing: true })
    try {
      const batch = engine.batch()
      batch.put('probe', Buffer.from('probe'))
      await batch.write({ isDurable: true })
      if (engine.get('probe')?.toString() !== 'probe')
        throw new Error('LevelDB did not return the test value that was written')
    } finally {
      await engine.close()
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
