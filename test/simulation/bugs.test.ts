import { expect, it } from 'vitest'
import { BUGS } from './bugs.js'
import { loadPlanted } from './planted.js'

/** Within so many seeds a bug has to be found. */
const SEEDS = 40

it.each(BUGS)('finds it when $name', async (bug) => {
  const { simulate } = await loadPlanted(bug)
  let found: string | undefined
  for (let seed = 1; seed <= SEEDS && found === undefined; seed++) {
    const { failure } = await simulate(seed)
    if (failure) found = `seed ${seed}: ${failure.message}`
  }
  console.log(`${bug.name}: ${found}`)
  expect(found).toBeDefined()
})
