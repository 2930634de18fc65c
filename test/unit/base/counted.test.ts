import { expect, it } from 'vitest'
import { alternatives, counted } from '../../../src/base/counted.js'

it('a counted noun is singular for one thing alone', () => {
  expect([0, 1, 2].map((count) => counted(count, 'share'))).toEqual(['0 shares', '1 share', '2 shares'])
  expect(counted(1, 'entry', 'entries')).toBe('1 entry')
  expect(counted(3, 'entry', 'entries')).toBe('3 entries')
})

it.each([
  [[], ''],
  [['up'], 'up'],
  [['up', 'down'], 'up or down'],
  [[1, 3, 5], '1, 3 or 5'],
])('%j are listed as alternatives: "%s"', (words, text) => {
  expect(alternatives(words)).toBe(text)
})
