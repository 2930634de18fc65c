import { expect, it } from 'vitest'
import { World } from '../../support/model-world.js'
import { RaceChance, RACES } from '../../support/order-races.js'
import { soakRounds, soakSeed, soakTimeoutMs } from '../../support/soak.js'

/**
 * Two or more operators, or an operator and those who log in, at the same time: chance decides who comes first. A failure
 * shows what was done; `npm run soak -- orders --seed <seed>` draws the same moments again.
 */
const ROUNDS = soakRounds(6)
const seed = soakSeed()

const run = async (race: (typeof RACES)[number]) => {
  console.log(`seed ${seed}`)
  const world = await World.create('pr', seed)
  try {
    const chance = new RaceChance(`${race.name} ${seed}`)
    await race.prepare(world)
    for (let round = 0; round < ROUNDS; round++) await race.run(world, chance, round)
  } finally {
    console.log(
      [...world.seen]
        .sort()
        .map(([what, count]) => `${what}: ${count}`)
        .join('\n'),
    )
    await world.lab.close()
  }
  expect(world.seen.size).toBeGreaterThan(3)
}

it.each(RACES.map((race) => ({ name: race.name, race })))('$name', ({ race }) => run(race), soakTimeoutMs(ROUNDS))
