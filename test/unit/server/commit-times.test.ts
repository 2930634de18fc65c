import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { CommitTimes } from '../../../src/server/wiring/commit-times.js'

describe('how long somebody lacks an entry', () => {
  it('the lag time is zero without missing entries, and counts from the first missing one', async () => {
    const clock = new ManualClock()
    const times = new CommitTimes(clock, 10)
    expect(times.lackingMs(10)).toBe(0)
    await clock.advance(60_000)
    times.committed(12)
    expect(times.lackingMs(12)).toBe(0)
    await clock.advance(5000)
    expect(times.lackingMs(10)).toBe(5000)
    times.committed(13)
    await clock.advance(1000)
    expect([times.lackingMs(10), times.lackingMs(12), times.lackingMs(13)]).toEqual([6000, 1000, 0])
  })

  it('the lag time of entries before the start counts from the start', async () => {
    const clock = new ManualClock()
    const times = new CommitTimes(clock, 10)
    await clock.advance(3000)
    expect(times.lackingMs(4)).toBe(3000)
  })

  it('the commit times are limited in number, and never show too short a lag', async () => {
    const clock = new ManualClock()
    const times = new CommitTimes(clock, 0)
    for (let index = 1; index <= 10_000; index += 1) {
      await clock.advance(100)
      times.committed(index)
    }
    for (const index of [1, 5000, 9998]) {
      const exactMs = (10_000 - (index + 1)) * 100
      expect(times.lackingMs(index)).toBeGreaterThanOrEqual(exactMs)
      expect(times.lackingMs(index)).toBeLessThan(exactMs + 1000)
    }
  })
})
