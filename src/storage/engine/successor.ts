import type { Engine } from './engine.js'
import type { Successor } from './engine-source.js'
import type { LiveEngine } from './live-engine.js'

/** The steps of a generation change whose implementation differs between a directory and memory. */
interface SuccessionSteps {
  readonly engine: Engine
  readonly requireFreeSpace: () => Promise<void>
  /** Makes the new generation live. */
  readonly commit: () => Promise<void>
  readonly discard: () => Promise<void>
  readonly destroyOld: () => Promise<void>
}

export const createSuccessor = (live: LiveEngine, steps: SuccessionSteps): Successor => ({
  engine: steps.engine,
  follow: () => live.follow(),
  get writtenCount() {
    return live.writtenCount
  },
  takeWritten: () => live.takeWritten(),
  requireFreeSpace: steps.requireFreeSpace,
  async takeOver() {
    await steps.commit()
    const before = live.switchTo(steps.engine)
    return { unread: () => before.idle(), destroy: steps.destroyOld }
  },
  async abandon() {
    live.unfollow()
    await steps.discard()
  },
})
