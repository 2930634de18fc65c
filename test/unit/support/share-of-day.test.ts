import { expect, it } from 'vitest'
import { shareOfDay } from '../../support/share-of-day.js'

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)
const DAY_MS = 86_400_000

it.each([
  [200, 60],
  [62, 12],
  [90, 12],
  [5, 12],
])('the shares of any seven days in a row cover all %i items with %i a day', (total, count) => {
  for (const first of [0, 3, 20_000]) {
    const week = numbers(7).map((day) =>
      shareOfDay(numbers(total), count, { level: 'test', nowMs: (first + day) * DAY_MS }),
    )
    expect(new Set(week.flat()).size).toBe(total)
    for (const day of week) expect(new Set(day).size).toBe(day.length)
  }
})

it('the nightly level plays everything each day', () => {
  expect(shareOfDay(numbers(200), 60, { level: 'nightly', nowMs: 0 })).toEqual(numbers(200))
})
