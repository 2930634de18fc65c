import type { Engine } from './engine.js'
import type { Successor } from './engine-source.js'
import type { LiveEngine } from './live-engine.js'

/** Steps of a generation change that differ between a directory and memory. */
interface SuccessionSteps {
  readonly engine: Engine
  readonly requireRoom: () => Promise<void>
  /** The point of no return. */
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
  requireRoom: steps.requireRoom,
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
