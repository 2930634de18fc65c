import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import type { EtcdConnection } from '../../src/storage/shared-log/etcd/etcd-connection.js'
import { EtcdLayout } from '../../src/storage/shared-log/etcd/etcd-layout.js'
import type { EtcdSharedLog } from '../../src/storage/shared-log/etcd/etcd-shared-log.js'
import { ask, fill, freeSpace, startConnectedEtcd } from '../support/etcd.js'
import { openEtcdLog } from '../support/etcd-node.js'
import { openLink } from '../support/open-link.js'
import { until } from '../support/until.js'

/** Nodes measure the lease of a leader by its heartbeats, independent of the lease in etcd. */

const LEASE_MS = 2000
const never = new AbortController().signal
const layout = new EtcdLayout('/nodes/')
const openLog = (address: string) => openEtcdLog({ addresses: [address], leaseMs: LEASE_MS })

const campaign = (log: EtcdSharedLog, nodeId: string) =>
  log.campaign({ nodeId, apiAddress: '', clusterAddress: '' }, never)

/** Renews a lease in etcd, as etcd itself does for all leases when another member becomes the leader of etcd. */
const keepAlive = (connection: EtcdConnection, lease: string): void => {
  const timer = systemClock.setRepeating(LEASE_MS / 4, () => {
    connection.keepAlive(lease, LEASE_MS).catch(() => undefined)
  })
  onTestFinished(() => timer.cancel())
}

const keyOf = async (connection: EtcdConnection, key: Buffer) => (await connection.ask('Range', { key })).kvs[0]

it('another node becomes leader after a lease without heartbeats, even if etcd keeps the lease', async () => {
  const { etcd, connection } = await startConnectedEtcd()
  const link = await openLink(etcd.port)
  onTestFinished(() => link.close())
  const first = await openLog(`127.0.0.1:${link.port}`)
  const second = await openLog(etcd.address)
  const leadership = await campaign(first, 'first')
  keepAlive(connection, (await keyOf(connection, layout.leader))?.lease ?? '')
  const elected = campaign(second, 'second')
  link.hold()
  const next = await elected
  expect(leadership.isHeld).toBe(false)
  expect(next.term).toBeGreaterThan(leadership.term)
  link.release()
})

it('a leader with heartbeats keeps its leadership, and a deposed leader learns of it by its next heartbeat', async () => {
  const { etcd, connection } = await startConnectedEtcd()
  const first = await openLog(etcd.address)
  const leadership = await campaign(first, 'first')
  const started = await keyOf(connection, layout.heartbeat)
  const second = await openLog(etcd.address)
  const elected = campaign(second, 'second')
  await until(async () => (await keyOf(connection, layout.heartbeat))?.mod_revision !== started?.mod_revision)
  expect(leadership.isHeld).toBe(true)
  await connection.ask('Txn', { compare: [], success: [{ request_delete_range: { key: layout.leader } }] })
  expect(await leadership.lost).toBe('its lease has expired')
  expect((await elected).isHeld).toBe(true)
})

it('etcd compacts old revisions, even if nodes write only heartbeats', async () => {
  const { etcd, connection } = await startConnectedEtcd()
  const log = await openEtcdLog({ addresses: [etcd.address], leaseMs: LEASE_MS, bounds: { historyMs: 200 } })
  await campaign(log, 'first')
  const { mod_revision: revision } = (await keyOf(connection, layout.heartbeat)) ?? {}
  const atThatTime = () =>
    connection.ask('Range', { key: layout.heartbeat, revision: revision ?? '' }).then(
      () => 'there',
      (error: unknown) => String(error),
    )
  expect(await atThatTime()).toBe('there')
  await until(async () => (await atThatTime()).includes('compacted'))
})

it('nodes do not wait for heartbeats of a leader while etcd is full', async () => {
  const { etcd, connection } = await startConnectedEtcd('--quota-backend-bytes', String(16 * 1024 * 1024))
  const first = await openLog(etcd.address)
  const second = await openLog(etcd.address)
  const leadership = await campaign(first, 'first')
  const withdrawn = new AbortController()
  const elected = second.campaign({ nodeId: 'second', apiAddress: '', clusterAddress: '' }, withdrawn.signal)
  elected.catch(() => undefined)
  const heartbeat = () => keyOf(connection, layout.heartbeat)
  await fill(etcd)
  await until(async () => (await heartbeat()) === undefined)
  const fullMs = systemClock.monotonic()
  // Longer than the second node waits for a heartbeat.
  await until(() => systemClock.monotonic() > fullMs + 1.5 * LEASE_MS)
  expect(leadership.isHeld).toBe(true)
  await freeSpace(etcd)
  await until(async () => (await heartbeat()) !== undefined)
  expect(leadership.isHeld).toBe(true)
  expect((await ask(etcd, 'maintenance/alarm', { action: 'GET' })).alarms ?? []).toEqual([])
  withdrawn.abort(new Error('withdrawn'))
  await expect(elected).rejects.toThrow('withdrawn')
})
