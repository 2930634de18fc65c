import { uuid } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import type { ReadStorage } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * The purge mark: a record that exists from the time when a filter first withholds stored data until the files with
 * this data are destroyed. The mark never leaves the cluster. It is stored unencrypted, because a sealed cluster reads
 * it too. Each mark has a new ID, so that a rewritten mark differs from the earlier one.
 */

/**
 * Stage of the removal of filtered data. `hidden`: the data is stored, but clients cannot read it. `deleted`: the
 * deletion of the data has started or is about to start.
 */
export type PurgeStage = 'hidden' | 'deleted'

export const makePurgeMark = (stage: PurgeStage, random: Random): Buffer => Buffer.from(`${stage} ${uuid(random)}`)

export const readPurgeStage = (storage: ReadStorage): PurgeStage | undefined => {
  const mark = storage.get(KEYS.purgeMark)
  if (mark === undefined) return undefined
  return mark.toString().startsWith('hidden') ? 'hidden' : 'deleted'
}
