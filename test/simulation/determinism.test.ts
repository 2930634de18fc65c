import { expect, it } from 'vitest'
import { shareOfDay } from '../support/share-of-day.js'
import { simulate } from './simulate.js'

const SEEDS = [1, 2, 3, 4, 5, 6]

it.each(shareOfDay(SEEDS, 1))('seed %i has the same history each time', async (seed) => {
  const first = await simulate(seed)
  const again = await simulate(seed)
  expect(again.hash).toBe(first.hash)
  expect(again.events).toBe(first.events)
})

it('each seed has its own history, with and without recorded events', async () => {
  const [one, two] = [await simulate(1), await simulate(2)]
  expect(one.hash).not.toBe(two.hash)
  expect(one.story).toEqual([])
  const told = await simulate(1, { isTold: true })
  expect(told.hash).toBe(one.hash)
  expect(told.story.length).toBeGreaterThanOrEqual(told.events)
})
