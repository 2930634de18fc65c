import { planOf } from './plan.js'
import { play } from './play.js'
import { World } from './world.js'

export interface Outcome {
  readonly seed: number
  /** Of everything that has happened. */
  readonly hash: string
  readonly events: number
  readonly virtualMs: number
  /** What ended it before its time: a promise that did not hold, or a bug. */
  readonly failure: Error | undefined
  /** Empty unless it was asked for. */
  readonly story: readonly string[]
}

/** Far longer than any seed needs. */
const VIRTUAL_MS_MAX = 3_600_000

/** Plays one seed from its beginning to its end. The same seed has the same history each time. */
export const simulate = async (seed: number, isTold = false): Promise<Outcome> => {
  const world = new World(planOf(seed), ['A', 'B'], isTold)
  const { clock, history } = world
  const failure = await clock.run(play(world), VIRTUAL_MS_MAX).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  )
  for (const { cluster } of world.members) cluster.crash(true)
  const { hash, events, story } = history
  return { seed, hash, events, virtualMs: clock.monotonic(), failure, story }
}
