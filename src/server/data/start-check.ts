import { LIMITS } from '../../base/limits.js'
import type { Log } from '../../base/log.js'
import { LogicalError } from '../../logical/errors.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import { damagedData } from '../../storage/engine/level-failure.js'
import type { Store } from '../../storage/store/store.js'

/**
 * Looks through data that was not closed in order, since a file of it may be lost of which no other knows: the leaf records
 * and the trees tell what must be there. Damage of data that is small enough to be looked through at once is a LogicalError;
 * of more it is told in the log, and by merkle-check.
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
    if (error instanceof LogicalError && error.code === 'internal') log.error('what is served is damaged', { error })
    else log.warn('the data was not looked through after a crash', { error })
  })
}
