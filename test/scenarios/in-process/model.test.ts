import fc from 'fast-check'
import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { ACTIONS, type ActionName, type Choice, KIND_CHOICES, runAction } from '../../support/model-actions.js'
import { settle } from '../../support/model-checks.js'
import { World } from '../../support/model-world.js'

/**
 * Clusters that are asked for anything in any order. Nobody predicts the answers; what is checked is what must hold
 * whatever they are. A failure prints the seed: `MODEL_SEED=<seed>` runs it again, with
 * `MODEL_PATH=<path>` alone.
 */
const STEPS_MIN = 2000
const RUNS = 24
const STEPS_PER_RUN = 90

const seed = Number(process.env.MODEL_SEED ?? createSeed())

/** As a failure prints it: runs that one only. */
const path = process.env.MODEL_PATH

function createSeed(): number {
  return Math.floor(systemClock.now()) % 2 ** 31
}

/** The model is what the clusters say of themselves: steps always apply, and a step that cannot be is refused. */
class Step implements fc.AsyncCommand<object, World> {
  readonly #name: ActionName
  readonly #choice: Choice

  constructor(name: ActionName, choice: Choice) {
    this.#name = name
    this.#choice = choice
  }

  check(): boolean {
    return true
  }

  async run(_model: object, world: World): Promise<void> {
    await runAction(world, this.#name, this.#choice)
  }

  toString(): string {
    return `${this.#name} ${JSON.stringify(this.#choice)}`
  }
}

const choice = fc.record({
  a: fc.nat(3),
  b: fc.nat(2),
  kind: fc.constantFrom(...KIND_CHOICES),
  coin: fc.boolean(),
})

const step = fc
  .tuple(
    fc.oneof(
      ...Object.entries(ACTIONS).map(([name, { weight }]) => ({ arbitrary: fc.constant(name as ActionName), weight })),
    ),
    choice,
  )
  .map(([name, picked]) => new Step(name, picked))

it('clusters keep their promises whatever they are asked for', async () => {
  const seen = new Map<string, number>()
  let steps = 0
  const property = fc.asyncProperty(
    fc.constantFrom('none', 'dr', 'pr', 'pr-dr', 'four'),
    fc.array(step, { minLength: STEPS_PER_RUN, maxLength: STEPS_PER_RUN, size: 'max' }),
    async (topology, commands) => {
      const world = await World.create(topology, seed)
      try {
        await fc.asyncModelRun(() => ({ model: {}, real: world }), commands)
        await settle(world)
      } finally {
        steps += world.history.length
        for (const [what, count] of world.seen) seen.set(what, (seen.get(what) ?? 0) + count)
        await world.lab.close()
      }
    },
  )
  console.log(`seed ${seed}`)
  try {
    await fc.assert(property, { seed, numRuns: RUNS, endOnFailure: true, ...(path && { path }) })
  } finally {
    console.log(
      `${steps} steps\n${[...seen]
        .sort()
        .map(([what, count]) => `${what}: ${count}`)
        .join('\n')}`,
    )
  }
  expect(steps).toBeGreaterThanOrEqual(STEPS_MIN)
})
