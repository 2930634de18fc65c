import { expect, it } from 'vitest'
import { shareOfDay } from '../support/share-of-day.js'
import { simulate } from './simulate.js'

const SEEDS = [1, 2, 3, 4, 5, 6]

it.each(shareOfDay(SEEDS, 1))('seed %i has its own history, the same each time, recorded or not', async (seed) => {
  const first = await simulate(seed)
  const again = await simulate(seed, { isTraced: true })
  expect(again.hash).toBe(first.hash)
  expect(again.events).toBe(first.events)
  expect(first.trace).toEqual([])
  expect(again.trace.length).toBeGreaterThanOrEqual(again.events)
  const other = await simulate(seed + 1)
  expect(other.hash).not.toBe(first.hash)
})
