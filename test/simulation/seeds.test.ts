import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { shareOfDay } from '../support/share-of-day.js'
import { SeedWorkers } from './seed-workers.js'

const SEEDS = 200
const SEEDS_OF_DAY = 60
/** Number of seeds of one test: a busy machine plays them within the timeout. */
const PART = 20

let workers: SeedWorkers
beforeAll(async () => {
  workers = await SeedWorkers.start()
})
afterAll(() => workers[Symbol.asyncDispose]())

const firsts = Array.from({ length: SEEDS / PART }, (_, index) => 1 + index * PART)
const today = shareOfDay(firsts, SEEDS_OF_DAY / PART)
/** `npm test` plays the first part of the seeds of the day; the full level plays the others. */
const PARTS = { test: today.slice(0, 1), full: today.slice(1), nightly: today }

it.each(PARTS[inject('level')])(`promises hold on ${PART} seeds from %i on`, async (first) => {
  const failed: string[] = []
  for await (const { seed, failure } of workers.play(Array.from({ length: PART }, (_, index) => first + index)))
    if (failure) failed.push(`npm run simulate -- --trace --seed ${seed}: ${failure.text}`)
  expect(failed).toEqual([])
})
