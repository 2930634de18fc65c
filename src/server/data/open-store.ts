import type { Facilities } from '../../base/facilities.js'
import type { Recorder } from '../../base/meter.js'
import type { CommitLog } from '../../storage/commit-log/commit-log.js'
import type { Engine } from '../../storage/engine/engine.js'
import { Store } from '../../storage/store/store.js'
import type { ServerConfig } from '../config/config.js'

export interface StoreSurroundings extends Pick<Facilities, 'clock' | 'random' | 'log'> {
  readonly config: ServerConfig
  readonly recorder?: Recorder | undefined
  /** Set for a node of a multi-node cluster. */
  readonly commitLog?: CommitLog
}

/**
 * Opens the store on an engine, with the configured sizes. `syncWrites: true` makes every write durable, regardless of the
 * configuration.
 */
export const openStore = (
  engine: Engine,
  { config: { own }, clock, random, log, recorder, commitLog }: StoreSurroundings,
  syncWrites = own.syncWrites,
): Promise<Store> =>
  Store.open({
    engine,
    clock,
    random,
    log,
    syncWrites,
    walRetentionEntries: own.walRetentionEntries,
    walRetentionBytes: own.walRetentionBytes,
    ringBytes: own.shipWindowBytes,
    recorder,
    ...(commitLog && { commitLog }),
  })
