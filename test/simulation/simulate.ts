import { planOf } from './plan.js'
import { play } from './play.js'
import { namesOf } from './servers.js'
import { type Act, type RunOptions, World } from './world.js'

export interface Outcome {
  readonly seed: number
  /** Hash of all events. */
  readonly hash: string
  readonly events: number
  readonly virtualMs: number
  /** The reason why the run ended early: a broken promise, or a bug. */
  readonly failure: Error | undefined
  readonly acts: readonly Act[]
  /** Empty unless it was requested. */
  readonly trace: readonly string[]
}

/** Far longer than any seed needs. */
const VIRTUAL_MS_MAX = 3_600_000

/** Plays one seed from start to end. The same seed always has the same history. */
export const simulate = async (seed: number, options: RunOptions = {}): Promise<Outcome> => {
  const plan = planOf(seed)
  const world = new World(plan, namesOf(plan.topology), options)
  const { clock, history } = world
  const failure = await watched(clock.run(play(world), VIRTUAL_MS_MAX)).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  )
  for (const { cluster } of world.members) cluster.crash(true)
  const { hash, events, story: trace } = history
  return { seed, hash, events, virtualMs: clock.monotonic(), failure, acts: world.acts, trace }
}

/** A rejection that no code awaits would end a process of the product. In the simulation, it ends the run. */
const watched = async (playing: Promise<void>): Promise<void> => {
  let onUnhandled: (error: unknown) => void = () => undefined
  const unhandled = new Promise<never>((_, reject) => {
    onUnhandled = (error) => reject(new Error('unhandled rejection', { cause: error }))
  })
  process.on('unhandledRejection', onUnhandled)
  try {
    await Promise.race([playing, unhandled])
  } finally {
    process.off('unhandledRejection', onUnhandled)
  }
}
