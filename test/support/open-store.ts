import { silentLog } from '../../src/base/log.js'
import { MemoryEngine } from '../../src/storage/engine/memory-engine.js'
import { Store, type StoreOptions } from '../../src/storage/store/store.js'
import { ManualClock } from './manual-clock.js'

/** Opens a store. By default, it is in memory, with a clock that stands still. */
export const openStore = (options: Partial<StoreOptions> = {}): Promise<Store> =>
  Store.open({
    engine: new MemoryEngine(),
    clock: new ManualClock(),
    log: silentLog,
    syncWrites: true,
    walRetentionEntries: 1000,
    walRetentionBytes: 1 << 30,
    ringBytes: 1 << 20,
    ...options,
  })
