import { uuid } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import type { ReadStorage } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * The purge mark: a record that exists from the moment a filter names local data until the files with that data are
 * destroyed. It never leaves the cluster. It is stored unencrypted, because it is read while the cluster is sealed.
 * Each mark has its own ID, so that a rewritten mark can be distinguished from the earlier one.
 */

/**
 * Stage of the removal of filtered data. `hidden`: clients cannot read it. `deleted`: it is deleted, or about to be
 * deleted, at least in part.
 */
export type PurgeStage = 'hidden' | 'deleted'

export const makePurgeMark = (stage: PurgeStage, random: Random): Buffer => Buffer.from(`${stage} ${uuid(random)}`)

export const readPurgeStage = (storage: ReadStorage): PurgeStage | undefined => {
  const mark = storage.get(KEYS.purgeMark)
  if (mark === undefined) return undefined
  return mark.toString().startsWith('hidden') ? 'hidden' : 'deleted'
}
