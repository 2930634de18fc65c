import { expect, it } from 'vitest'
import { ManualClock } from '../../../support/manual-clock.js'

const ELAPSED_MS = 86_400_000
/** The duration is lost in an addition to the elapsed time. */
const TINY_MS = 1.8e-12

it('a timer of a tiny duration fires later than it was set', () => {
  const clock = new ManualClock()
  clock.advance(ELAPSED_MS)
  const firedMs: number[] = []
  clock.setTimer(TINY_MS, () => firedMs.push(clock.monotonic()))
  clock.advance(1)
  expect(firedMs).toHaveLength(1)
  expect(firedMs[0]).toBeGreaterThan(ELAPSED_MS)
})
