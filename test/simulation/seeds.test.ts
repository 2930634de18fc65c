import { expect, it } from 'vitest'
import { simulate } from './simulate.js'

/** As many as two minutes have room for on a small machine. */
const SEEDS = 50
const FIRST = 1

it(`promises hold on the seeds from ${FIRST} to ${FIRST + SEEDS - 1}`, async () => {
  const failed: string[] = []
  for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
    const { failure } = await simulate(seed)
    if (failure) failed.push(`npm run simulate -- --trace --seed ${seed}: ${failure.stack}`)
  }
  expect(failed).toEqual([])
})
