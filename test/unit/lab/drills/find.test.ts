import { expect, it } from 'vitest'
import { chooseFault } from '../../../../src/lab/drills/find/find.js'
import { MYSTERIES } from '../../../../src/lab/drills/find/mysteries.js'
import type { Tie } from '../../../../src/lab/drills/find/ties.js'

const performance: Tie = { kind: 'performance', primary: 'A', secondary: 'C', id: 'perf-c' }
const dr: Tie = { kind: 'dr', primary: 'A', secondary: 'B', id: 'dr-b' }

const seeds = Array.from({ length: 500 }, (_, index) => String(index))

it('a seed always chooses the same hidden fault, and all seeds together choose every fault', () => {
  const chosen = seeds.map((seed) => chooseFault([performance, dr], seed))
  expect(seeds.map((seed) => chooseFault([performance, dr], seed))).toEqual(chosen)
  expect(new Set(chosen.map(({ mystery }) => mystery.name))).toEqual(new Set(MYSTERIES.map(({ name }) => name)))
  expect(new Set(chosen.map(({ place }) => place.secondary))).toEqual(new Set(['B', 'C']))
})

it('a hidden fault is not planted in a lab that does not support it', () => {
  for (const seed of seeds) {
    const { mystery, place } = chooseFault([dr], seed)
    expect(mystery.fits(place), mystery.name).toBe(true)
  }
})

it('each hidden fault has a description, a symptom and a remedy', () => {
  for (const mystery of MYSTERIES) {
    const { what, seen, mend } = mystery.tell({ ...performance, isBackwards: false })
    for (const text of [what, seen]) expect(text, mystery.name).toMatch(/\b[AC]\b/)
    expect(mend.length, mystery.name).toBeGreaterThan(0)
  }
})

it('a lab without replication has no hidden fault', () => {
  expect(() => chooseFault([], '1')).toThrow('nothing is replicated in this lab')
})
