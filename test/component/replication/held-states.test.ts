import { expect, test } from 'vitest'
import type { HoldState, Kind } from '../../../src/replication/model/types.js'
import { type ControlCluster, issueToken, openWorld, SHARED_KEY } from '../../support/control-cluster.js'
import { until } from '../../support/until.js'

/** The status of a secondary that a lab holds at a state. */

const KINDS: readonly Kind[] = ['dr', 'performance']
const { startTwo } = openWorld()

/** Starts a primary with a value, and a secondary that is held at this state. */
const heldPair = async (kind: Kind, state: HoldState) => {
  const [a, b] = await startTwo(kind, 'b')
  await a.writeValue(SHARED_KEY, 'copied')
  b.holds.hold(kind, state)
  await b.change(`replication/${kind}/secondary/enable`, { token: await issueToken(a, kind, 'b') })
  await until(() => b.holds.list().some(({ isReached }) => isReached))
  return { a, b }
}

const streams = (cluster: ControlCluster, kind: Kind) => () => cluster.status(kind).state === 'stream-wals'

test.each(KINDS)('a %s secondary held while bootstrapping has no data and reports its mode', async (kind) => {
  const { a, b } = await heldPair(kind, 'bootstrapping')
  expect(b.status(kind)).toEqual({ mode: 'bootstrapping', cluster_id: a.status(kind).cluster_id })
  expect(b.readValue(SHARED_KEY)).toBeUndefined()
  expect(a.status(kind).secondaries).toMatchObject([{ node_id: 'b', connection_status: 'connected' }])
  b.holds.release()
  await until(streams(b, kind))
  expect(b.status(kind).mode).toBe('secondary')
  expect(b.readValue(SHARED_KEY)).toBe('copied')
})

test('a secondary that has joined is not held at bootstrapping again', async () => {
  const { b } = await heldPair('dr', 'bootstrapping')
  b.holds.release()
  await until(streams(b, 'dr'))
  b.holds.hold('dr', 'bootstrapping')
  await b.restart()
  await until(streams(b, 'dr'))
  expect(b.holds.list()).toEqual([{ kind: 'dr', state: 'bootstrapping', isReached: false }])
})

test.each(KINDS)('the status of a %s secondary shows the progress of its sync from the start', async (kind) => {
  const { a, b } = await heldPair(kind, 'merkle-sync')
  expect(b.status(kind)).toEqual({
    mode: 'bootstrapping',
    cluster_id: a.status(kind).cluster_id,
    merkle_sync_progress: { sync_total_keys: 0, sync_progress: 0 },
  })
  b.holds.release()
  await until(streams(b, kind))
  expect(b.status(kind)).not.toHaveProperty('merkle_sync_progress')
})

test.each(KINDS)('a %s secondary that reports its primary as connected has received a heartbeat', async (kind) => {
  const { a, b } = await heldPair(kind, 'merkle-diff')
  b.holds.release()
  await until(streams(b, kind))
  const beats: unknown[] = []
  await b.restart()
  await until(() => {
    const [primary] = b.status(kind).primaries as { connection_status: string; last_heartbeat?: string }[]
    if (primary) beats.push(primary.last_heartbeat)
    return primary?.connection_status === 'connected'
  })
  expect(beats).not.toContain(undefined)
  expect(a.status(kind).mode).toBe('primary')
})
