import { expect, test } from 'vitest'
import { errorsOf } from '../../src/client/api-client.js'
import { join, type NodeProcess, openRaft, untilAllVote } from '../support/node-processes.js'
import { until } from '../support/until.js'

/** Nodes with storage "raft" without a quorum. */

test('a standby without a quorum serves reads and explains why writes fail, until a node returns', async () => {
  const { nodes, first } = await openRaft(['A', 'B', 'C'], { role_change_wait: '200ms' })
  const [b, c] = nodes.without(first) as [NodeProcess, NodeProcess]
  await nodes.clientOf(first).call('PUT', 'kv/it', { body: { value: 1 } })
  await untilAllVote(nodes)
  await nodes.level()
  await Promise.all([first.crash(), b.crash()])
  const client = nodes.clientOf(c)
  const write = () => client.send('PUT', 'kv/it', { body: { value: 2 } })
  for (let turn = 0; turn < 3; turn++) {
    expect((await client.send('GET', 'kv/it')).json?.data).toEqual({ value: 1 })
    const refused = await write()
    expect([refused.status, errorsOf(refused)]).toEqual([503, [expect.stringMatching(/active/)]])
  }
  expect((await c.send('GET', 'sys/health')).json).toMatchObject({ performance_standby: true, standby: true })
  await b.start()
  await nodes.unseal(b)
  const active = await nodes.active()
  expect((await write()).status).toBe(204)
  expect((await nodes.clientOf(active).send('GET', 'kv/it')).json?.data).toEqual({ value: 2 })
})

test('a cluster continues after all its nodes are killed and started', async () => {
  const { nodes } = await openRaft()
  await nodes.clientOf(await nodes.active()).call('PUT', 'kv/it', { body: { value: 'kept' } })
  await Promise.all(nodes.all.map((node) => node.crash()))
  await Promise.all(nodes.all.map((node) => node.start()))
  await Promise.all(nodes.all.map((node) => nodes.unseal(node)))
  const client = nodes.clientOf(await nodes.active())
  expect((await client.send('GET', 'kv/it')).json?.data).toEqual({ value: 'kept' })
  await client.call('PUT', 'kv/it', { body: { value: 'new' } })
})

test('a node without a quorum reports its state, and unseals after other nodes start', async () => {
  const { nodes } = await openRaft(['A', 'B', 'C'], { role_change_wait: '200ms' })
  const [a, b, c] = nodes.all as [NodeProcess, NodeProcess, NodeProcess]
  await nodes.clientOf(await nodes.active()).call('PUT', 'kv/it', { body: { value: 'kept' } })
  await untilAllVote(nodes)
  await Promise.all(nodes.all.map((node) => node.crash()))
  await a.start()
  const ask = async (method: string, path: string, body?: object): Promise<unknown[]> => {
    const answer = await a.send(method, path, body && { body })
    return [answer.status, answer.json?.errors ?? answer.json]
  }
  const sealed = { initialized: true, sealed: true }
  expect(await ask('GET', 'sys/health')).toEqual([503, expect.objectContaining(sealed)])
  expect(await ask('GET', 'sys/seal-status')).toEqual([200, expect.objectContaining(sealed)])
  expect(await ask('GET', 'sys/leader')).toEqual([503, ['Vault is sealed']])
  expect(await ask('GET', 'sys/init')).toEqual([200, { initialized: true }])
  expect(await ask('PUT', 'sys/init', { secret_shares: 1, secret_threshold: 1 })).toEqual([
    400,
    ['Vault is already initialized'],
  ])
  expect(await join(a, b)).toEqual({ joined: true })
  expect(await ask('GET', 'kv/it')).toEqual([503, ['Vault is sealed']])
  const [key] = nodes.keys
  expect(await ask('PUT', 'sys/unseal', { key })).toEqual([503, [expect.stringContaining('too few nodes')]])
  await b.start()
  await until(async () => Number((await a.anonymous.read('sys/seal-status')).t) === 2)
  await nodes.unseal(a)
  await until(async () => Number((await b.anonymous.read('sys/seal-status')).t) === 2)
  await nodes.unseal(b)
  expect((await nodes.clientOf(await nodes.active()).send('GET', 'kv/it')).json?.data).toEqual({ value: 'kept' })
  await c.start()
})
