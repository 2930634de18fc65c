import type { Engine } from '../engine/engine.js'
import { readState } from '../commit/load.js'
import { APPLIED_KEY, WAL_PREFIX, walIndexOf } from '../keys/raw-keys.js'

const CHUNK_BYTES = 1024 * 1024

/**
 * Copies the data of a store that is not in use, without the log before its cut and without the records that
 * `isLeftOut` selects.
 */
export const copyRest = async (from: Engine, to: Engine, isLeftOut: (rawKey: string) => boolean): Promise<void> => {
  const base = readState(from)?.base.index ?? 0
  const goesAlong = (key: string): boolean =>
    key !== APPLIED_KEY && !isLeftOut(key) && !(key.startsWith(WAL_PREFIX) && walIndexOf(key) <= base)
  for await (const chunk of from.scan({}, { chunkBytes: CHUNK_BYTES })) {
    const batch = to.batch()
    for (const { key, value } of chunk) if (goesAlong(key)) batch.put(key, value)
    await batch.write({ isDurable: true })
  }
}
