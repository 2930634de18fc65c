import { expect, it } from 'vitest'
import { nearest } from '../../../src/base/nearest.js'

const KNOWN = ['failover', 'switchover', 'failback', 'kv']

it.each([
  ['failovr', 'failover'],
  ['faliback', 'failback'],
  ['kvv', 'kv'],
  ['fail', 'failover'],
  ['switch', 'switchover'],
  ['sw', undefined],
  ['promote', undefined],
])('the word nearest to %s is %s', (word, meant) => {
  expect(nearest(word, KNOWN)).toBe(meant)
})
