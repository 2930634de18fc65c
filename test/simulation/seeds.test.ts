import { afterAll, beforeAll, expect, it } from 'vitest'
import { Players } from './players.js'

/** As many as two minutes have room for on a small machine, in parts that a busy one gets done in its time. */
const SEEDS = 200
const PART = 25

let players: Players
beforeAll(async () => {
  players = await Players.start()
})
afterAll(() => players[Symbol.asyncDispose]())

const firsts = Array.from({ length: SEEDS / PART }, (_, index) => 1 + index * PART)

it.each(firsts)(`promises hold on ${PART} seeds from %i on`, async (first) => {
  const failed: string[] = []
  for await (const { seed, failure } of players.play(Array.from({ length: PART }, (_, index) => first + index)))
    if (failure) failed.push(`npm run simulate -- --trace --seed ${seed}: ${failure.text}`)
  expect(failed).toEqual([])
})
