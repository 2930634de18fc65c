import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { LeasedLeadership } from '../../../src/storage/shared-log/leased-leadership.js'
import { LOG_START } from '../../../src/storage/shared-log/raw-batch.js'
import type { LogPosition } from '../../../src/storage/shared-log/shared-log.js'

const LEASE_MS = 3000

/** Creates a leadership whose renewals are answered by a function, or after this time; undefined: never. */
const lead = (
  clock: ManualClock,
  answeredAfterMs: number | undefined | (() => Promise<boolean>),
  replace?: () => Promise<LogPosition>,
): LeasedLeadership => {
  const renew = async () => {
    if (typeof answeredAfterMs === 'function') return answeredAfterMs()
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
    await pass(clock, LEASE_MS)
    expect(leadership.isOver).toBe(true)
    expect(await leadership.lost).toBe('its lease could not be renewed in time')
  }
})

it('a renewal whose response arrives shortly after the end of the lease resumes the leadership', async () => {
  const clock = new ManualClock()
  const renewals: ((isRenewed: boolean) => void)[] = []
  const leadership = lead(clock, () => new Promise((resolve) => renewals.push(resolve)))
  let resumed = 0
  leadership.onResumed(() => resumed++)
  await pass(clock, LEASE_MS)
  expect([leadership.isHeld, leadership.isOver]).toEqual([false, false])
  renewals.pop()?.(true)
  await pass(clock, LEASE_MS / 2)
  expect([leadership.isHeld, resumed]).toEqual([true, 1])
  leadership.finish('done')
})

it('a renewal that is rejected after the end of the lease ends the leadership at once', async () => {
  const clock = new ManualClock()
  const renewals: ((isRenewed: boolean) => void)[] = []
  const leadership = lead(clock, () => new Promise((resolve) => renewals.push(resolve)))
  await pass(clock, LEASE_MS)
  renewals.pop()?.(false)
  expect(await leadership.lost).toBe('its lease has expired')
  renewals.pop()?.(true)
  await pass(clock, 50)
  expect([leadership.isHeld, leadership.isOver]).toEqual([false, true])
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
