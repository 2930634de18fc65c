import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ACTIONS, type ActionName, type Choice, KIND_CHOICES, runAction } from '../../support/model-actions.js'
import { settle } from '../../support/model-checks.js'
import { World } from '../../support/model-world.js'
import { soakRounds, soakSeed, soakTimeoutMs } from '../../support/soak.js'

/**
 * Clusters that are asked for anything in any order. Nobody predicts the answers; what is checked is what must hold
 * whatever they are. A failure prints seed and path: `npm run soak -- model --seed <seed>` runs all of it again, and
 * `SOAK_PATH=<path>` before it begins with the one that failed.
 */
const RUNS = soakRounds(24)
const STEPS_PER_RUN = 90
const seed = soakSeed()
const path = process.env.SOAK_PATH

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

const play = async () => {
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
  expect(steps).toBeGreaterThanOrEqual(path === undefined ? RUNS * STEPS_PER_RUN : STEPS_PER_RUN)
}

it('clusters keep their promises whatever they are asked for', play, soakTimeoutMs(RUNS))
