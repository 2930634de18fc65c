import { OutcomeUnknown } from '../../storage/commit-log/shared-log.js'
import type { Engine } from '../../storage/engine/engine.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import type { NewData } from '../parts/runtime-changes.js'

/** Publishes this node's data to the shared log. */
interface Publisher {
  publish(fresh: Engine): Promise<void>
}

/**
 * Replaces the data of a server and of its cluster's other nodes. Throws OutcomeUnknown if this node has published the data
 * but cannot adopt it: the others adopt it, and this one gets it from them.
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
