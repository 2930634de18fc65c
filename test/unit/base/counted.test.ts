import { expect, it } from 'vitest'
import { counted } from '../../../src/base/counted.js'

it('a counted noun is singular for one thing alone', () => {
  expect([0, 1, 2].map((count) => counted(count, 'share'))).toEqual(['0 shares', '1 share', '2 shares'])
  expect(counted(1, 'entry', 'entries')).toBe('1 entry')
  expect(counted(3, 'entry', 'entries')).toBe('3 entries')
})
