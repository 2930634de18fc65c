import { expect, it } from 'vitest'
import { ManualClock } from '../../../support/manual-clock.js'
import { Contacts } from '../../../../src/server/peers/contacts.js'
import type { AnnouncedNode } from '../../../../src/storage/shared-log/shared-log.js'

const START_MS = 1_700_000_000_000
const THRESHOLD_MS = 10_000

const node = (id: string, lastEchoMs: number): AnnouncedNode => ({
  ...{ id, hostname: '', apiAddress: '', clusterAddress: '', version: '', isSealed: false, appliedIndex: 0 },
  lastEchoMs,
})

const watch = () => {
  const clock = new ManualClock(START_MS)
  const contacts = new Contacts(clock)
  const see = (announced: readonly AnnouncedNode[], term = 1) =>
    contacts.see(['B'], { announced, term, thresholdMs: THRESHOLD_MS })[0]
  return { clock, see }
}

it('the silence of a node counts from its last heartbeat, independent of its clock', () => {
  const { clock, see } = watch()
  for (const echoMs of [5, START_MS + 1e9, START_MS - 1e9]) {
    expect(see([node('B', echoMs)])).toMatchObject({ isHealthy: true, lastContactMs: 0 })
    clock.advance(4000)
    expect(see([node('B', echoMs)])).toMatchObject({ isHealthy: true, lastContactMs: 4000 })
  }
  clock.advance(6000)
  expect(see([node('B', START_MS - 1e9)])).toMatchObject({ isHealthy: false, lastContactMs: 10_000 })
})

it('a missing node is unhealthy at once, and its silence continues to count', () => {
  const { clock, see } = watch()
  see([node('B', 1)])
  clock.advance(1000)
  expect(see([])).toEqual({ isHealthy: false, lastContactMs: 1000, stableSinceMs: undefined, stableMs: 0 })
  clock.advance(60_000)
  expect(see([])).toMatchObject({ lastContactMs: 61_000 })
})

it('contacts report since when a node has been healthy without interruption', () => {
  const { clock, see } = watch()
  see([node('B', 1)])
  clock.advance(3000)
  expect(see([node('B', 2)])).toMatchObject({ stableSinceMs: START_MS, stableMs: 3000 })
  see([])
  clock.advance(1000)
  expect(see([node('B', 3)])).toMatchObject({ stableSinceMs: START_MS + 4000, stableMs: 0 })
})

it('contacts are reset when another node becomes the leader', () => {
  const { clock, see } = watch()
  see([node('B', 1)])
  see([])
  clock.advance(3_600_000)
  expect(see([], 3)).toMatchObject({ isHealthy: false, lastContactMs: 0 })
})
