import { expect, test } from 'vitest'
import { skewedClock } from '../../../src/base/clock.js'
import { ManualClock } from '../../support/manual-clock.js'

test('a skewed clock shifts the time, and keeps the timers of its base clock', async () => {
  const clock = new ManualClock(1_000)
  const skewed = skewedClock(clock, () => 500)
  const fired: string[] = []
  skewed.setTimer(10, () => fired.push('timer'))
  const repeating = skewed.setRepeating(4, () => fired.push('repeating'))
  const slept = skewed.sleep(10).then(() => fired.push('sleep'))
  clock.advance(10)
  await slept
  repeating.cancel()
  expect(skewed.now()).toBe(1_510)
  expect(skewed.monotonic()).toBe(10)
  expect(fired).toEqual(['repeating', 'repeating', 'timer', 'sleep'])
})
