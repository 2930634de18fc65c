import { expect, test } from 'vitest'
import { type MemoryNode, startLoneNode, startMemoryNodes } from '../../../support/memory-nodes.js'
import { expectStreamedAlone, joinNodes, knownAddresses, level } from '../../../support/node-replication.js'
import { statusOf } from '../../../../src/lab/requests/replication.js'
import { expectAll, Writers } from '../../../support/node-writers.js'
import { until } from '../../../support/until.js'

/** A primary with several nodes. */

const NAMES = ['A', 'B', 'C']
const KINDS = ['dr', 'performance'] as const
const SETTINGS = { heartbeat_interval: '100ms', backoff_initial: '20ms', backoff_max: '200ms' }

const open = async (leaseMs?: number) => {
  const options = { settings: SETTINGS, ...(leaseMs !== undefined && { leaseMs }) }
  const primary = await startMemoryNodes(NAMES, options)
  await primary.open()
  const secondary = await startLoneNode('S', options)
  await secondary.open()
  await primary.clientOf(await primary.active()).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  return { primary, secondary }
}

test.each(KINDS)('a %s secondary knows all nodes of its primary, the active one first', async (kind) => {
  const { primary, secondary } = await open()
  await joinNodes(primary, secondary, kind)
  const addresses = primary.all.map((node) => node.clusterAddress)
  await until(async () => String(await knownAddresses(secondary, kind)) === String(addresses))
  const [first] = primary.all
  await primary.clientOf(await primary.active()).call('PUT', 'sys/step-down')
  const second = await primary.active(primary.without(first as MemoryNode))
  await until(async () => (await knownAddresses(secondary, kind))[0] === second.clusterAddress)
  expect([...(await knownAddresses(secondary, kind))].sort()).toEqual([...addresses].sort())
})

test.each(KINDS)(
  'a %s secondary continues without a comparison after the active node of its primary is killed',
  async (kind) => {
    const { primary, secondary } = await open(2000)
    await joinNodes(primary, secondary, kind)
    const writers = new Writers(primary)
    await writers.more()
    const first = await primary.active()
    await first.crash()
    const second = await primary.active()
    await writers.more()
    await first.start()
    await primary.unseal(first)
    await writers.stop()
    await level(primary, secondary, kind)
    await expectAll(primary.clientOf(second), writers)
    await expectStreamedAlone(second, primary)
  },
)

test('the address of a standby leads a secondary to the active node, by token and by update-primary', async () => {
  const { primary, secondary } = await open()
  const [, b, c] = primary.all as [MemoryNode, MemoryNode, MemoryNode]
  await joinNodes(primary, secondary, 'performance', { primaryAddress: b.clusterAddress })
  const active = await primary.active()
  expect(active).not.toBe(b)
  const status = await statusOf(secondary.clientOf(await secondary.active()), 'performance')
  expect(status.primary_cluster_addr).toBe(active.clusterAddress)
  await primary.clientOf(active).call('POST', 'sys/auth/userpass', { body: { type: 'userpass' } })
  await primary.clientOf(active).call('POST', 'auth/userpass/users/u', {
    body: { password: 'p', policies: ['root-like'] },
  })
  const policy = 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }'
  await primary.clientOf(active).call('PUT', 'sys/policies/acl/root-like', { body: { policy } })
  await level(primary, secondary, 'performance')
  const below = await secondary.active()
  const { auth } = (await below.anonymous.call('POST', 'auth/userpass/login/u', { body: { password: 'p' } })) as {
    auth: { client_token: string }
  }
  const updated = await secondary
    .clientOf(below, auth.client_token)
    .send('POST', 'sys/replication/performance/secondary/update-primary', {
      body: { update_primary_addrs: c.clusterAddress },
    })
  expect([updated.status, updated.json?.warnings]).toEqual([200, [expect.stringContaining(active.clusterAddress)]])
})

test('a revoked secondary is rejected after a step-down of its primary as well', async () => {
  const { primary, secondary } = await open()
  await joinNodes(primary, secondary, 'dr')
  const active = await primary.active()
  const body = { id: 'second' }
  await primary.clientOf(active).call('POST', 'sys/replication/dr/primary/revoke-secondary', { body })
  await primary.clientOf(active).call('PUT', 'sys/step-down')
  await primary.active(primary.without(active))
  const below = await secondary.serving()
  await until(async () => {
    const status = below && (await statusOf(secondary.clientOf(below), 'dr'))
    return status?.connection_state === 'transient_failure'
  })
  const client = primary.clientOf(await primary.active())
  expect((await statusOf(client, 'dr')).secondaries).toEqual([])
})
