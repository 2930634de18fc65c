import { expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import type { WatchResponse } from '../../src/storage/shared-log/etcd/etcd-api.js'
import { EtcdLayout, encodeMark, START_MARK } from '../../src/storage/shared-log/etcd/etcd-layout.js'
import type { Entry } from '../../src/storage/engine/engine.js'
import { type EtcdProcess, startConnectedEtcd } from '../support/etcd.js'
import { EtcdNode, openEtcdLog } from '../support/etcd-node.js'

/** Replaced data is removed from the files of etcd: the members are defragmented one at a time. */

const never = new AbortController().signal
const layout = new EtcdLayout('/nodes/')

/** Opens a log as a node with its own etcd member. */
const openLog = (etcd: EtcdProcess, options = {}) =>
  openEtcdLog({ addresses: [etcd.address], isOwnMember: true, ...options })

async function* oneKey(): AsyncGenerator<readonly Entry[]> {
  yield [{ key: 'd/fresh', value: Buffer.from('fresh') }]
}

it('nodes defragment their etcd members one after another', async () => {
  const { etcd, connection } = await startConnectedEtcd()
  const turns: string[] = []
  const watch = await connection.watch()
  watch.on('data', ({ events }: WatchResponse) => void turns.push(...events.map(({ type }) => type)))
  watch.on('error', () => undefined)
  watch.write({ create_request: { key: layout.turn } })
  const leader = await EtcdNode.start({ addresses: [etcd.address], isOwnMember: true })
  const others = [await openLog(etcd), await openLog(etcd), await openLog(etcd)]
  const leadership = await leader.lead()
  await leadership.replace(oneKey())
  await Promise.all(others.map((log) => log.forgetReplaced(never)))
  await expect.poll(() => turns).toEqual(Array.from({ length: 4 }, () => ['PUT', 'DELETE']).flat())
})

it('the turn to defragment passes on when its lease expires', async () => {
  const { etcd, connection } = await startConnectedEtcd()
  const leader = await EtcdNode.start({ addresses: [etcd.address], isOwnMember: true })
  const leadership = await leader.lead()
  const { ID: lease } = await connection.ask('LeaseGrant', { TTL: 1 })
  const turn = { request_put: { key: layout.turn, value: Buffer.alloc(0), lease } }
  await connection.ask('Txn', { compare: [], success: [turn] })
  await leadership.replace(oneKey())
  const { kvs } = await connection.ask('Range', { key: layout.turn })
  expect(kvs.filter((one) => one.lease === lease)).toEqual([])
})

it('a node stops waiting for a leader that does not delete replaced data', async () => {
  const { etcd, connection } = await startConnectedEtcd()
  const leader = JSON.stringify({ nodeId: 'other', apiAddress: '', clusterAddress: '', activeSinceMs: 0 })
  const puts = [
    { key: layout.leader, value: Buffer.from(leader) },
    { key: layout.base, value: encodeMark({ ...START_MARK, life: 1 }) },
  ]
  await connection.ask('Txn', { compare: [], success: puts.map((put) => ({ request_put: put })) })
  const hasty = { ...systemClock, monotonic: () => 1000 * systemClock.monotonic() }
  const log = await openLog(etcd, { clock: hasty })
  expect(log.leader?.nodeId).toBe('other')
  await log.forgetReplaced(never)
})
