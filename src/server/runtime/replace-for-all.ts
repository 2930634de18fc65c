import { OutcomeUnknown } from '../../storage/commit-log/shared-log.js'
import type { Engine } from '../../storage/engine/engine.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import type { NewData } from '../parts/runtime-changes.js'

/** Puts data of this node into the log of all. */
interface Publisher {
  publish(fresh: Engine): Promise<void>
}

/**
 * New data takes the place of what a server has, and of what the other nodes of its cluster have. Throws OutcomeUnknown where
 * this one cannot take what it has published: the others take it, and this one takes it from them.
 */
export const replaceForAll = async (
  source: EngineSource,
  publisher: Publisher | undefined,
  { prepare }: Pick<NewData, 'prepare'>,
): Promise<void> => {
  let isPublished = false
  try {
    await source.replace(async (fresh) => {
      await prepare(fresh, source.engine)
      await publisher?.publish(fresh)
      isPublished = publisher !== undefined
    })
  } catch (error) {
    throw isPublished ? new OutcomeUnknown(error) : error
  }
}
