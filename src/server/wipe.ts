import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Random } from '../base/random.js'
import type { SealRecord } from '../core/seal-records.js'
import type { PlainRecord } from '../replication/host.js'
import { Barrier } from '../storage/barrier.js'
import type { Engine } from '../storage/engine.js'
import { Store } from '../storage/store.js'
import { IDENTITY_KEY, type OwnIdentity } from './cluster-identity.js'
import type { ServerConfig } from './config.js'

export interface FreshContent {
  readonly config: ServerConfig
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly identity: OwnIdentity
  readonly rootKey: Buffer
  readonly sealRecords: readonly SealRecord[]
  readonly records: readonly PlainRecord[]
}

/** Fills the new generation of a wiped cluster: its identity, the keys of the set it joins, and its role. */
export const prepareGeneration = async (engine: Engine, content: FreshContent): Promise<void> => {
  const { config, clock, random, log, identity, rootKey, sealRecords, records } = content
  const store = await Store.open({
    engine,
    clock,
    random,
    log,
    syncWrites: true,
    walRetentionEntries: config.own.walRetentionEntries,
    walRetentionBytes: config.own.walRetentionBytes,
    ringBytes: config.own.shipWindowBytes,
  })
  try {
    await store.write((tx) => tx.put(IDENTITY_KEY, Buffer.from(JSON.stringify(identity))))
    // The primary's records come with the first copy too; here they are what opens the barrier until then.
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
