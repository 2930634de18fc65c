import { expect, it } from 'vitest'
import { chooseFault } from '../../../../src/lab/drills/find/find.js'
import { MYSTERIES } from '../../../../src/lab/drills/find/mysteries.js'
import type { Tie } from '../../../../src/lab/drills/find/ties.js'

const performance: Tie = { kind: 'performance', primary: 'A', secondary: 'C', id: 'perf-c' }
const dr: Tie = { kind: 'dr', primary: 'A', secondary: 'B', id: 'dr-b' }

const seeds = Array.from({ length: 500 }, (_, index) => String(index))

it('chooses the same for a seed, and among all seeds everything that fits', () => {
  const chosen = seeds.map((seed) => chooseFault([performance, dr], seed))
  expect(seeds.map((seed) => chooseFault([performance, dr], seed))).toEqual(chosen)
  expect(new Set(chosen.map(({ mystery }) => mystery.name))).toEqual(new Set(MYSTERIES.map(({ name }) => name)))
  expect(new Set(chosen.map(({ place }) => place.secondary))).toEqual(new Set(['B', 'C']))
})

it('plants nothing where it does not fit', () => {
  for (const seed of seeds) {
    const { mystery, place } = chooseFault([dr], seed)
    expect(mystery.fits(place), mystery.name).toBe(true)
  }
})

it('tells of every fault what it was, where one sees it and what mends it', () => {
  for (const mystery of MYSTERIES) {
    const { what, seen, mend } = mystery.tell({ ...performance, isBackwards: false })
    for (const text of [what, seen]) expect(text, mystery.name).toMatch(/\b[AC]\b/)
    expect(mend.length, mystery.name).toBeGreaterThan(0)
  }
})

it('has nothing to hide where nothing is replicated', () => {
  expect(() => chooseFault([], '1')).toThrow('nothing is replicated in this lab')
})
