import { describe, expect, it } from 'vitest'
import {
  formatGoDuration,
  formatShortDuration,
  lifeMs,
  parseDurationMs,
  wholeSeconds,
} from '../../../src/base/duration.js'

describe('durations', () => {
  it.each([
    ['90', 90_000, '1m30s'],
    ['2d', 172_800_000, '48h0m0s'],
    ['1h30m', 5_400_000, '1h30m0s'],
    ['1.5s', 1500, '1.5s'],
    ['500ms', 500, '500ms'],
    ['1m0.25s', 60_250, '1m0.25s'],
    ['1h0m0.001s', 3_600_001, '1h0m0.001s'],
    ['250us', 0.25, '250µs'],
    ['-500ms', -500, '-500ms'],
    ['0', 0, '0s'],
  ])('the duration %s is parsed and printed as in Go', (text, ms, printed) => {
    expect(parseDurationMs(text)).toBe(ms)
    expect(formatGoDuration(ms / 1000)).toBe(printed)
  })

  it('a printed duration omits zero parts in its short spelling', () => {
    expect([3600, 5400, 90, 0, 0.5].map(formatShortDuration)).toEqual(['1h', '1h30m', '1m30s', '0s', '500ms'])
  })

  it('a lifetime is in whole milliseconds, at least one', () => {
    expect([0, 0.5, 1.001, 1e-9, 60].map(lifeMs)).toEqual([0, 500, 1001, 1, 60_000])
  })

  it('a duration is shown in whole seconds', () => {
    expect([0.5, 1.9, 3600].map(wholeSeconds)).toEqual([0, 1, 3600])
  })
})
