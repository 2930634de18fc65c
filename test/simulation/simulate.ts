import { planOf } from './plan.js'
import { play } from './play.js'
import { namesOf } from './servers.js'
import { type Act, type Telling, World } from './world.js'

export interface Outcome {
  readonly seed: number
  /** Of everything that has happened. */
  readonly hash: string
  readonly events: number
  readonly virtualMs: number
  /** What ended it before its time: a promise that did not hold, or a bug. */
  readonly failure: Error | undefined
  readonly acts: readonly Act[]
  /** Empty unless it was asked for. */
  readonly story: readonly string[]
}

/** Far longer than any seed needs. */
const VIRTUAL_MS_MAX = 3_600_000

/** Plays one seed from its beginning to its end. The same seed has the same history each time. */
export const simulate = async (seed: number, telling: Telling = {}): Promise<Outcome> => {
  const plan = planOf(seed)
  const world = new World(plan, namesOf(plan.topology), telling)
  const { clock, history } = world
  const failure = await watched(clock.run(play(world), VIRTUAL_MS_MAX)).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  )
  for (const { cluster } of world.members) cluster.crash(true)
  const { hash, events, story } = history
  return { seed, hash, events, virtualMs: clock.monotonic(), failure, acts: world.acts, story }
}

/** What rejects and is awaited by nobody would end a process of the product: here it ends the simulation. */
const watched = async (playing: Promise<void>): Promise<void> => {
  let onUnhandled: (error: unknown) => void = () => undefined
  const unhandled = new Promise<never>((_, reject) => {
    onUnhandled = (error) => reject(new Error('a rejection was handled by nobody', { cause: error }))
  })
  process.on('unhandledRejection', onUnhandled)
  try {
    await Promise.race([playing, unhandled])
  } finally {
    process.off('unhandledRejection', onUnhandled)
  }
}
