import type { ReadStorage } from '../../logical/storage.js'

/**
 * Set from the moment a filter names data that lies here until the files that held it are destroyed. Never leaves. It is
 * stored encrypted, so that the stored bytes of one that is written anew tell it apart from the one before.
 */
export const PURGE_KEY = 'core/replication/purge'

/** Of the data that a filter takes away: it is not shown any more; some of it is, or is about to be, deleted. */
export type PurgeStage = 'hidden' | 'deleted'

export const readPurgeStage = (storage: ReadStorage): PurgeStage | undefined => {
  const mark = storage.get(PURGE_KEY)
  if (mark === undefined) return undefined
  return mark.toString() === 'hidden' ? 'hidden' : 'deleted'
}
