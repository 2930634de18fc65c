/**
 * Upgrades a version 1 mount to version 2 in place. Each chunk is one transaction, and an interrupted upgrade resumes
 * at the first chunk that is not stored. The mount must not be used until the upgrade is complete.
 */
import type { Storage } from '../../logical/storage.js'
import { V1_PREFIX, versionKey } from './layout.js'
import { newMetadata } from './metadata.js'
import { putMetadata } from './stored-metadata.js'

const CHUNK_KEYS = 100

/**
 * Converts every secret to the first version of its key. `nowMs` becomes the time of creation. Resolves when all writes
 * are durable.
 */
export const upgradeToV2 = async (storage: Storage, nowMs: number): Promise<void> => {
  for (;;) {
    const keys = await storage.keys(V1_PREFIX, { limit: CHUNK_KEYS })
    if (keys.length === 0) return
    await storage.write((tx) => {
      for (const key of keys) {
        const value = tx.get(key)
        if (!value) continue
        const path = key.slice(V1_PREFIX.length)
        const metadata = newMetadata(nowMs)
        metadata.currentVersion = 1
        metadata.versions[1] = { createdMs: nowMs }
        putMetadata(tx, path, metadata)
        tx.put(versionKey(path, 1), value)
        tx.delete(key)
      }
    })
  }
}
