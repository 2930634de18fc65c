import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/manual-clock.js'
import { CommitTimes } from '../../../src/server/wiring/commit-times.js'

describe('how long somebody lacks an entry', () => {
  it('is nothing for whoever has all, and counts from when the first that is missing was written', async () => {
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

  it('knows of what was written before only that it is older than itself', async () => {
    const clock = new ManualClock()
    const times = new CommitTimes(clock, 10)
    await clock.advance(3000)
    expect(times.lackingMs(4)).toBe(3000)
  })

  it('does not grow without end, and is never too short', async () => {
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
