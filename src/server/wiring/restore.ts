import { LIMITS } from '../../base/limits.js'
import type { PlainRecord } from '../../replication/host/host.js'
import { Barrier } from '../../storage/barrier/barrier.js'
import { beginStoreAt } from '../../storage/commit/begin-at.js'
import type { Engine } from '../../storage/engine/engine.js'
import { readSnapshot } from '../../storage/store/snapshot-file.js'
import type { Store } from '../../storage/store/store.js'
import { openStore, type StoreSurroundings } from '../data/open-store.js'
import type { Restoration } from './snapshots.js'
import { KEYS } from '../../storage/keys/key-families.js'

type RestoredContent = StoreSurroundings & Restoration

/** Fills a new generation with a snapshot and the records that this cluster keeps. Secondaries find the log truncated. */
export const prepareRestored = async (engine: Engine, content: RestoredContent): Promise<void> => {
  const { clock, random, file, rootKey, kept, beginAt } = content
  await beginStoreAt(engine, random, beginAt())
  const store = await openStore(engine, content, true)
  try {
    for await (const entries of readSnapshot(file)) {
      // This cluster's own wrapping of the same root key is kept below.
      await store.importMutations(entries.filter(({ key }) => !(rootKey && key === KEYS.autoWrappedRoot)))
    }
    await store.forgetRemote()
    await keep(new Barrier({ store, clock, random }), store, kept, rootKey)
  } finally {
    await store.close()
  }
}

const keep = async (
  barrier: Barrier,
  store: Store,
  kept: Restoration['kept'],
  rootKey: Buffer | undefined,
): Promise<void> => {
  if (rootKey) barrier.unseal(rootKey)
  const target = rootKey ? barrier : store
  // Several transactions are safe: this generation is not visible before it is complete.
  for (const part of partsOf(kept)) {
    await target.write((tx) => {
      for (const { key, value } of part) tx.put(key, value)
    })
  }
  barrier.seal()
}

/** Yields records in groups of limited size. */
function* partsOf(records: readonly PlainRecord[]): Generator<readonly PlainRecord[]> {
  let part: PlainRecord[] = []
  let bytes = 0
  for (const record of records) {
    bytes += record.key.length + record.value.length
    if (part.length > 0 && bytes > LIMITS.commitBytesMax) {
      yield part
      part = []
      bytes = record.key.length + record.value.length
    }
    part.push(record)
  }
  yield part
}
