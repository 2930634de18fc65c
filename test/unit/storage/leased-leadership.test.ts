import { expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/manual-clock.js'
import { LeasedLeadership } from '../../../src/storage/commit-log/leased-leadership.js'
import { LOG_START } from '../../../src/storage/commit-log/raw-batch.js'

const LEASE_MS = 3000

/** A leadership whose renewals are answered after so long; undefined: never. */
const lead = (clock: ManualClock, answeredAfterMs: number | undefined) => {
  const renew = async () => {
    if (answeredAfterMs === undefined) return new Promise<boolean>(() => undefined)
    await clock.sleep(answeredAfterMs)
    return true
  }
  const unasked = () => Promise.reject(new Error('not asked for'))
  return new LeasedLeadership({
    clock,
    leaseMs: LEASE_MS,
    sentMs: clock.monotonic(),
    term: 1,
    end: LOG_START,
    calls: { renew, append: unasked, replace: unasked, release: unasked },
  })
}

const pass = async (clock: ManualClock, ms: number): Promise<void> => {
  for (let passed = 0; passed < ms; passed += 50) {
    clock.advance(50)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

it('keeps a lease whose renewals take longer than the time between two of them', async () => {
  const clock = new ManualClock()
  const leadership = lead(clock, LEASE_MS / 2)
  await pass(clock, 10 * LEASE_MS)
  expect(leadership.isHeld).toBe(true)
  leadership.finish('done')
})

it('loses a lease whose renewals come too late, or never', async () => {
  for (const answeredAfterMs of [LEASE_MS, undefined]) {
    const clock = new ManualClock()
    const leadership = lead(clock, answeredAfterMs)
    await pass(clock, LEASE_MS)
    expect(leadership.isHeld).toBe(false)
    expect(await leadership.lost).toBe('its lease could not be renewed in time')
  }
})
