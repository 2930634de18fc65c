import { systemClock } from '../../src/base/clock.js'
import type { ApiAnswer } from '../../src/index.js'
import { waitFor } from '../../src/lab/requests/wait.js'
import type { DiskStep } from '../../src/storage/engine/watched-source.js'
import { type WatchedStorage, watchStorage } from './model-storage.js'
import { UNCUT_SETTINGS, World } from './model-world.js'

/** Counts what one cluster does to its disk, and ends its process just before the step with a given number. */
export class DeathWatch {
  readonly steps: DiskStep[] = []
  readonly storage: WatchedStorage
  readonly #dieAt: number
  #isArmed = false
  #hasDied = false

  constructor(dieAt: number) {
    this.#dieAt = dieAt
    this.storage = watchStorage((step) => this.#before(step))
  }

  get hasDied(): boolean {
    return this.#hasDied
  }

  arm(): void {
    this.#isArmed = true
  }

  disarm(): void {
    this.#isArmed = false
  }

  #before(step: DiskStep): void {
    if (!this.#isArmed) return
    if (this.steps.push(step) !== this.#dieAt) return
    this.#hasDied = true
    this.#isArmed = false
    this.storage.kill()
  }
}

/** Something that changes a disk in several steps, on the cluster `victim`. */
export interface Operation {
  readonly name: string
  readonly topology: string
  readonly victim: string
  /** What has to be there before. */
  prepare(world: World): Promise<void>
  /** Starts the operation. What it answers does not matter once its process is dying. */
  perform(world: World): Promise<ApiAnswer | undefined>
  /** What is still missing before all of its steps are done. */
  findMissing(world: World): Promise<string | undefined>
  /** Looks at what is left right after the restart: fails when it is neither the old state nor the new one. */
  check(world: World): Promise<'before' | 'after'>
  /** The cluster goes on: to the end of the operation, begun anew where it never happened. */
  finish(world: World, found: 'before' | 'after'): Promise<void>
}

export interface Enumeration {
  readonly steps: readonly DiskStep[]
  readonly found: Readonly<Record<'before' | 'after', number>>
}

const DONE_MS = 60_000
/** An operation that never ends would be enumerated for ever. */
const STEPS_MAX = 80

/** Runs an operation once for each of its steps, dying there, and once to its end. */
export const enumerateCrashes = async (operation: Operation, seed: number): Promise<Enumeration> => {
  const found = { before: 0, after: 0 }
  for (let dieAt = 1; dieAt <= STEPS_MAX; dieAt++) {
    const watch = new DeathWatch(dieAt)
    const makeStorage = (name: string) => (name === operation.victim ? watch.storage : watchStorage())
    const world = await World.create(operation.topology, seed, { makeStorage, settings: UNCUT_SETTINGS })
    world.history.push(`${operation.name}, dying before step ${dieAt}`)
    try {
      if (!(await runOnce(operation, world, watch, found))) return { steps: watch.steps, found }
    } finally {
      await world.lab.close()
    }
  }
  throw new Error(`${operation.name} took more than ${STEPS_MAX} steps`)
}

/** False when the operation came to its end before the step at which it was to die. */
const runOnce = async (
  operation: Operation,
  world: World,
  watch: DeathWatch,
  found: Record<'before' | 'after', number>,
): Promise<boolean> => {
  const victim = world.named(operation.victim)
  await operation.prepare(world)
  watch.arm()
  const answer = await operation.perform(world).catch((error: unknown) => {
    if (!watch.hasDied) throw error
    return undefined
  })
  if (answer && answer.status >= 300 && !watch.hasDied)
    world.fail(`${operation.name} was refused: ${answer.status} ${answer.bytes}`)
  await waitFor(
    systemClock,
    operation.name,
    async () => (watch.hasDied ? undefined : operation.findMissing(world)),
    DONE_MS,
  )
  watch.disarm()
  const hasDied = watch.hasDied
  world.history.push(`steps: ${watch.steps.join(', ')}`)
  await victim.cluster.crash()
  await world.start(victim)
  const state = await operation.check(world)
  world.history.push(`${operation.victim} is as ${state}`)
  if (hasDied) found[state]++
  else if (state === 'before') world.fail(`${operation.name} was done and is gone after a crash`)
  await operation.finish(world, state)
  return hasDied
}
