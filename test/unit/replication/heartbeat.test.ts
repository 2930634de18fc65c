import { expect, test } from 'vitest'
import type { Clock } from '../../../src/base/clock.js'
import { systemClock } from '../../../src/base/clock.js'
import { Heartbeat } from '../../../src/replication/secondary/heartbeat.js'
import { TIMES } from '../../support/replication-fixture.js'

/** A primary that responds when the test says so, on a clock that the test controls. */
const world = () => {
  let nowMs = 1000
  let lastIndex = 0
  const facts = { appliedIndex: 0, state: 'stream-wals' as const }
  let beat = () => {}
  const clock: Clock = {
    ...systemClock,
    now: () => nowMs,
    monotonic: () => nowMs,
    sleep: () => new Promise<void>((resolve) => (beat = resolve)),
  }
  const heartbeat = new Heartbeat({
    clock,
    times: TIMES,
    who: () => ({ setId: '', clusterId: '', version: '', epochs: [], apiAddress: '', clusterAddresses: [] }),
    progress: () => facts,
    onReply: () => undefined,
  })
  const connection = {
    call: async () => ({ who: null, time_ms: nowMs, last_index: lastIndex, primary_addresses: [] }),
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  heartbeat.run(connection as never, new AbortController().signal).catch(() => undefined)
  return {
    facts,
    heartbeat,
    pass: (ms: number) => (nowMs += ms),
    announce: async (index: number) => {
      await settled()
      lastIndex = index
      beat()
      await settled()
    },
  }
}

test('the lag is 0 with nothing outstanding, however long the last heartbeat is ago', async () => {
  const { facts, heartbeat, pass, announce } = world()
  facts.appliedIndex = 7
  await announce(7)
  pass(900)
  expect(heartbeat.lagMs).toBe(0)
  await announce(7)
  pass(100)
  expect(heartbeat.lagMs).toBe(0)
})

test('the lag is the age of the oldest announced index that has not arrived', async () => {
  const { facts, heartbeat, pass, announce } = world()
  await announce(7)
  pass(300)
  await announce(9)
  pass(200)
  expect(heartbeat.lagMs).toBe(500)
  facts.appliedIndex = 7
  expect(heartbeat.lagMs).toBe(200)
  facts.appliedIndex = 9
  expect(heartbeat.lagMs).toBe(0)
})
