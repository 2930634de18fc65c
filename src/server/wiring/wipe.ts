import type { SealRecord } from '../../core/seal/seal-records.js'
import type { PlainRecord } from '../../replication/host/host.js'
import { Barrier } from '../../storage/barrier/barrier.js'
import type { Engine } from '../../storage/engine/engine.js'
import type { OwnIdentity } from '../parts/cluster-identity.js'
import { openStore, type StoreSurroundings } from '../data/open-store.js'
import { KEYS } from '../../storage/keys/key-families.js'

interface FreshContent extends StoreSurroundings {
  readonly identity: OwnIdentity
  readonly rootKey: Buffer
  readonly sealRecords: readonly SealRecord[]
  readonly records: readonly PlainRecord[]
}

/** Fills the new generation of a wiped cluster with its identity, the keys of the set it joins, and its role. */
export const prepareGeneration = async (engine: Engine, content: FreshContent): Promise<void> => {
  const { clock, random, identity, rootKey, sealRecords, records } = content
  const store = await openStore(engine, content, true)
  try {
    await store.write((tx) => tx.put(KEYS.clusterIdentity, Buffer.from(JSON.stringify(identity))))
    // The primary's records also arrive with the first full sync. Until then, these open the barrier.
    await store.importMutations(sealRecords.map(({ key, value }) => ({ key, value })))
    const barrier = new Barrier({ store, clock, random })
    barrier.unseal(rootKey)
    await barrier.write((tx) => {
      for (const { key, value } of records) tx.put(key, value)
    })
    barrier.seal()
  } finally {
    await store.close()
  }
}
