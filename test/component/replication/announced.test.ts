import { expect, test } from 'vitest'
import { type EpochChain, extendChain } from '../../../src/replication/model/epoch.js'
import type { Kind } from '../../../src/replication/model/types.js'
import {
  type ControlCluster,
  changeSecondary,
  issueToken,
  joinSet,
  openWorld,
  SHARED_KEY,
  untilStreaming,
} from '../../support/control-cluster.js'
import { until } from '../../support/until.js'

/** Announced indexes belong to the epoch of their primary, and are never compared with indexes of another primary. */

const { start, clusters } = openWorld()

const untilApplied = (secondary: ControlCluster, kind: Kind, primary: ControlCluster) =>
  until(() => Number(secondary.status(kind).last_remote_wal) >= Number(primary.status(kind)[`last_${kind}_wal`]))

/** A has a long log and the secondaries B and C. A is demoted, B is promoted with a short log, and C follows B. */
const switchOver = async (kind: Kind) => {
  const [a, b, c] = [await start('a'), await start('b'), await start('c')]
  await a.change(`replication/${kind}/primary/enable`)
  for (let n = 0; n < 60; n++) await a.writeValue(SHARED_KEY, String(n))
  await joinSet(b, kind, a, 'b')
  await joinSet(c, kind, a, 'c')
  await a.change(`replication/${kind}/primary/demote`)
  await changeSecondary(b, kind, 'promote')
  await changeSecondary(c, kind, 'update-primary', { token: await issueToken(b, kind, 'c') })
  await untilStreaming(c, kind, b)
  await untilApplied(c, kind, b)
  expect(b.store.position.index).toBeLessThan(60)
  expect(c.status(kind).last_remote_wal).toBeLessThanOrEqual(b.store.position.index)
  return { a, b, c }
}

const KINDS: readonly Kind[] = ['dr', 'performance']

test.each(KINDS)('a synced %s secondary can be promoted after it has followed a new primary', async (kind) => {
  const { c } = await switchOver(kind)
  await changeSecondary(c, kind, 'promote')
  expect(c.status(kind).mode).toBe('primary')
  expect(await c.replication.losses()).toEqual([])
})

test.each(KINDS)(
  'a %s secondary of a new primary can be promoted after a restart, without that primary',
  async (kind) => {
    const { b, c } = await switchOver(kind)
    await c.restart()
    await untilStreaming(c, kind, b)
    await b.change(`replication/${kind}/primary/demote`)
    await c.restart()
    await changeSecondary(c, kind, 'promote')
    expect(c.status(kind).mode).toBe('primary')
    expect(await c.replication.losses()).toEqual([])
  },
)

test.each(KINDS)('a forced promotion of a synced %s secondary of a new primary lists no losses', async (kind) => {
  const { c } = await switchOver(kind)
  await changeSecondary(c, kind, 'promote', { force: true })
  expect(await c.replication.losses()).toEqual([])
})

test.each(KINDS)('a %s secondary cannot be promoted before it has applied data of its new primary', async (kind) => {
  const [a, b, c] = [await start('a'), await start('b'), await start('c')]
  await a.change(`replication/${kind}/primary/enable`)
  for (let n = 0; n < 60; n++) await a.writeValue(SHARED_KEY, String(n))
  await joinSet(b, kind, a, 'b')
  await joinSet(c, kind, a, 'c')
  await a.change(`replication/${kind}/primary/demote`)
  await changeSecondary(b, kind, 'promote')
  await b.writeValue(SHARED_KEY, 'of b')
  c.holds.hold(kind, 'merkle-diff')
  await changeSecondary(c, kind, 'update-primary', { token: await issueToken(b, kind, 'c') })
  await expect(changeSecondary(c, kind, 'promote')).rejects.toThrow('still catching up')
  // Its index in the log of the new primary is 0, so clients keep waiting for their own writes.
  await until(() => c.replication.view.primaryClusterId === b.clusterId)
  expect(c.replication.view.lastRemoteWal).toBe(0)
  await b.stop()
  clusters.delete(b.apiAddress)
  await c.restart()
  await expect(changeSecondary(c, kind, 'promote')).rejects.toThrow('still catching up')
  c.holds.release()
})

test.each(KINDS)(
  'a %s primary that is demoted and promoted again recognizes its secondary in its log',
  async (kind) => {
    const [a, c] = [await start('a'), await start('c')]
    await a.change(`replication/${kind}/primary/enable`)
    for (let n = 0; n < 60; n++) await a.writeValue(SHARED_KEY, String(n))
    await joinSet(c, kind, a, 'c')
    await a.change(`replication/${kind}/primary/demote`)
    await changeSecondary(a, kind, 'promote')
    await changeSecondary(c, kind, 'update-primary', { token: await issueToken(a, kind, 'c') })
    await untilStreaming(c, kind, a)
    await until(() => c.store.remotePosition?.epoch === a.store.epoch)
    await untilApplied(c, kind, a)
    await changeSecondary(c, kind, 'promote')
    expect(c.status(kind).mode).toBe('primary')
  },
)

test('a new primary counts the index of its secondaries in its own log', async () => {
  const { b } = await switchOver('performance')
  const view = b.replication.context.running.performance.primary?.registry.views().find((one) => one.isConnected)
  await until(() => (view?.appliedIndex ?? 0) <= b.store.position.index)
  expect(view?.appliedIndex).toBeLessThanOrEqual(b.store.position.index)
})

const CHAIN: EpochChain = [
  { id: 'one', number: 1, parent: '', forkIndex: 0 },
  { id: 'two', number: 2, parent: 'one', forkIndex: 31 },
]

test('extendChain continues from the known parent epoch, with a number above all known epochs', () => {
  expect(extendChain(CHAIN, 'three', { forkIndex: 25, parentId: 'one' })).toEqual([
    CHAIN[0],
    { id: 'three', number: 3, parent: 'one', forkIndex: 25 },
  ])
  expect(extendChain(CHAIN, 'three', { forkIndex: 8, parentId: 'two' })).toEqual([
    ...CHAIN,
    { id: 'three', number: 3, parent: 'two', forkIndex: 8 },
  ])
})
