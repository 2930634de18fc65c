import { PURGE_KEY } from '../replication/purge.js'
import type { Engine } from '../storage/engine.js'
import { readState } from '../storage/load.js'
import { dataKey, WAL_PREFIX, walIndexOf } from '../storage/raw-keys.js'

/** What one batch of the copy holds. */
const BATCH_BYTES = 2 * 1024 * 1024

/**
 * Copies what an engine holds to a fresh one: every record as it is, but neither deleted ones, which linger in the files
 * of the old, nor the log in front of its cut, nor the mark that called for this.
 */
export const copyRemaining = async (from: Engine, to: Engine): Promise<void> => {
  const base = readState(from)?.base.index ?? 0
  const isLeft = (key: string) => key !== dataKey(PURGE_KEY) && (!key.startsWith(WAL_PREFIX) || walIndexOf(key) > base)
  let batch = to.batch()
  let bytes = 0
  for await (const chunk of from.scan({})) {
    for (const { key, value } of chunk) {
      if (!isLeft(key)) continue
      batch.put(key, value)
      bytes += key.length + value.length
      if (bytes < BATCH_BYTES) continue
      await batch.write({ isDurable: true })
      batch = to.batch()
      bytes = 0
    }
  }
  await batch.write({ isDurable: true })
}
