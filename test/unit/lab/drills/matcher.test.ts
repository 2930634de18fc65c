import { expect, it } from 'vitest'
import { describeWanted, findMismatch } from '../../../../src/lab/drills/context/matcher.js'
import { findSeries } from '../../../../src/lab/drills/expectations/facts.js'

it.each([
  [1, 1],
  ['a', 'a'],
  [{ a: 1, b: 2 }, { a: 1 }],
  [{ a: { b: [1, 2] } }, { a: { b: [1, 2] } }],
  [5, { 'at-least': 5, 'at-most': 5 }],
  ['stream-wals', { contains: 'wals' }],
  [['x', 'y'], { contains: 'y' }],
  ['secondary', { not: 'primary' }],
  [undefined, { present: false }],
  ['b', { 'one-of': ['a', 'b'] }],
  [{ n: 3 }, { n: { 'at-least': 1 } }],
])('the matcher accepts %j for %j', (given, wanted) => {
  expect(findMismatch(given, wanted)).toBeUndefined()
})

it.each([
  [1, 2, 'is 1, not 2'],
  [{ a: 1 }, { a: { 'at-least': 2 } }, 'a is 1, not at least 2'],
  [{ a: { b: 1 } }, { a: { b: 2 } }, 'a.b is 1, not 2'],
  [[1, 2], [2, 1], 'is [1,2], not [2,1]'],
  [undefined, { present: true }, 'is absent, not present true'],
  [undefined, { 'at-most': 3 }, 'is absent, not at most 3'],
  [null, { 'at-least': 0 }, 'is null, not at least 0'],
  ['text', { key: 1 }, 'is "text", not {"key":1}'],
])('the matcher rejects %j for %j', (given, wanted, text) => {
  expect(findMismatch(given, wanted)).toBe(text)
})

it('the matcher describes limits in words', () => {
  expect(describeWanted({ 'at-least': 1, 'at-most': 3 })).toBe('at least 1 and at most 3')
})

it('the matcher finds metric series by name and labels', () => {
  const text = '# HELP a b\nvault_x 1\nvault_x{kind="dr",id="b"} 2.5\nvault_xy 3\n'
  expect(findSeries(text, 'vault_x', {}).map(({ value }) => value)).toEqual([1, 2.5])
  expect(findSeries(text, 'vault_x', { kind: 'dr' })).toEqual([
    { value: 2.5, text: 'vault_x{kind="dr",id="b"}  2.5'.replace('  ', ' ') },
  ])
  expect(findSeries(text, 'vault_z', {})).toEqual([])
})
