import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { LeasedLeadership } from '../../../src/storage/shared-log/leased-leadership.js'
import { LOG_START } from '../../../src/storage/shared-log/raw-batch.js'
import type { LogPosition } from '../../../src/storage/shared-log/shared-log.js'

const LEASE_MS = 3000

/** Creates a leadership whose renewals are answered after this time; undefined: never. */
const lead = (
  clock: ManualClock,
  answeredAfterMs: number | undefined,
  replace?: () => Promise<LogPosition>,
): LeasedLeadership => {
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
    calls: { renew, append: unasked, replace: replace ?? unasked, release: unasked },
  })
}

const pass = async (clock: ManualClock, ms: number): Promise<void> => {
  for (let passed = 0; passed < ms; passed += 50) {
    clock.advance(50)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

it('a lease is kept if its renewals take longer than their interval', async () => {
  const clock = new ManualClock()
  const leadership = lead(clock, LEASE_MS / 2)
  await pass(clock, 10 * LEASE_MS)
  expect(leadership.isHeld).toBe(true)
  leadership.finish('done')
})

it('a lease is lost if its renewals arrive too late or never', async () => {
  for (const answeredAfterMs of [LEASE_MS, undefined]) {
    const clock = new ManualClock()
    const leadership = lead(clock, answeredAfterMs)
    await pass(clock, LEASE_MS)
    expect(leadership.isHeld).toBe(false)
    expect(await leadership.lost).toBe('its lease could not be renewed in time')
  }
})

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

it('a leadership keeps no memory of answered calls', async () => {
  const clock = new ManualClock()
  const asked: WeakRef<object>[] = []
  const answer = (index: number) => {
    const position = { index, hash: Buffer.alloc(20) }
    asked.push(new WeakRef(position))
    return position
  }
  const leadership = lead(clock, 0, async () => answer(asked.length + 1))
  const nothing = (async function* () {})()
  for (let turn = 0; turn < 10; turn++) await leadership.replace(nothing)
  await pass(clock, 50)
  collect()
  expect(asked.filter((one) => one.deref() !== undefined).length).toBeLessThan(3)
  leadership.finish('done')
})
