import { expect, it } from 'vitest'
import { END_SHOWN_EARLIER_US, formatNanoTime } from '../../../src/base/rfc3339.js'

it.each([
  [1_700_000_000_123, 0, '2023-11-14T22:13:20.123000000Z'],
  [1_700_000_000_123, 5, '2023-11-14T22:13:20.122995000Z'],
  [1_700_000_000_000, 5, '2023-11-14T22:13:19.999995000Z'],
  [0, 0, '1970-01-01T00:00:00.000000000Z'],
])('%i ms, %i microseconds before: %s, always with nine digits', (ms, microseconds, shown) => {
  expect(formatNanoTime(ms, microseconds)).toBe(shown)
})

it('a client that subtracts creation from expiry and rounds down gets one second less than the TTL', () => {
  const parse = (text: string) => BigInt(Date.parse(text)) * 1_000_000n + BigInt(text.slice(-7, -1))
  const begin = 1_700_000_000_456
  const nanos = parse(formatNanoTime(begin + 60_000, END_SHOWN_EARLIER_US)) - parse(formatNanoTime(begin))
  expect(nanos / 1_000_000_000n).toBe(59n)
})
