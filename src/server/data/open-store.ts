import type { Facilities } from '../../base/facilities.js'
import type { Recorder } from '../../base/meter.js'
import type { CommitLog } from '../../storage/shared-log/commit-log.js'
import type { Engine } from '../../storage/engine/engine.js'
import { Store } from '../../storage/store/store.js'
import type { ServerConfig } from '../config/config.js'
import { LIMITS } from '../../base/limits.js'
import type { Log } from '../../base/log.js'
import { LogicalError } from '../../logical/errors.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import { damagedData } from '../../storage/engine/level-failure.js'

export interface StoreSurroundings extends Pick<Facilities, 'clock' | 'random' | 'log'> {
  readonly config: ServerConfig
  readonly recorder?: Recorder | undefined
  readonly commitLog?: CommitLog
}

/**
 * Opens a store on an engine with the configured sizes. If `syncWrites` is true, every commit is durable, regardless of
 * the configuration.
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

/**
 * Verifies data that was not closed cleanly, because a crash can lose a file without an error. Leaf records and trees
 * show which records must exist. For small data, rejects with `LogicalError` if it is damaged. Larger data is verified
 * in the background, and damage is logged. `merkle-check` reports it too.
 */
export const checkAfterCrash = async (source: EngineSource, store: Pick<Store, 'examine'>, log: Log): Promise<void> => {
  if (!source.isUnchecked) return
  const check = async () => {
    const { damage } = await store.examine().catch((error: unknown) => {
      if (error instanceof LogicalError && error.code === 'internal') throw damagedData(error.message)
      throw error
    })
    if (damage.length > 0) throw damagedData(`the data is damaged: ${damage.join('; ')}`)
  }
  if ((await source.engine.sizeBytes()) <= LIMITS.startCheckBytesMax) return check()
  check().catch((error: unknown) => {
    if (error instanceof LogicalError && error.code === 'internal') log.error('the stored data is damaged', { error })
    else log.warn('cannot verify the data after a crash', { error })
  })
}
