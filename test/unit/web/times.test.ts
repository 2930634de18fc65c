import { expect, it } from 'vitest'
import { DAY_AND_TIME } from '../../../src/web/parts/times.js'

it('a date on the page is an ISO date, with the time zone, in each locale', () => {
  const text = DAY_AND_TIME.format(Date.parse('2026-11-29T14:10:22Z'))
  expect(text).toMatch(/^2026-11-\d\d \d\d:10:22 \S+$/)
})
