import { uuid } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import type { ReadStorage } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * Set from the moment a filter names data that lies here until the files that contained it are destroyed. Never leaves. It is
 * stored in plain, since it is looked at while a cluster is sealed, too; so each carries an id of its own, by which one
 * that is written anew is told apart from the one before.
 */

/** Data that a filter takes away: `hidden` is not shown any more; `deleted` is, or is about to be, deleted in part. */
export type PurgeStage = 'hidden' | 'deleted'

export const makePurgeMark = (stage: PurgeStage, random: Random): Buffer => Buffer.from(`${stage} ${uuid(random)}`)

export const readPurgeStage = (storage: ReadStorage): PurgeStage | undefined => {
  const mark = storage.get(KEYS.purgeMark)
  if (mark === undefined) return undefined
  return mark.toString().startsWith('hidden') ? 'hidden' : 'deleted'
}
