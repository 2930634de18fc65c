import { expect, test } from 'vitest'
import type { ApiAnswer } from '../../../../src/client/api-client.js'
import { startMemoryNodes } from '../../../support/memory-nodes.js'
import { until } from '../../../support/until.js'

/** Restoring a snapshot on all nodes of a cluster. */

const RAFT = { storage: { raft: { path: '/nowhere' } } }

const open = async (names: readonly string[], more: object = RAFT) => {
  const nodes = await startMemoryNodes(names, { more })
  await nodes.open()
  const active = await nodes.active()
  const client = nodes.clientOf(active)
  await client.call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  return { nodes, active, client }
}

test('a restored snapshot of the cluster reaches every node, and no node has to be unsealed', async () => {
  const { nodes, active, client } = await open(['A', 'B', 'C'])
  await client.call('PUT', 'kv/it', { body: { value: 'before' } })
  const { bytes: file } = await client.send('GET', 'sys/storage/raft/snapshot')
  await client.call('PUT', 'kv/it', { body: { value: 'after' } })
  expect((await client.send('POST', 'sys/storage/raft/snapshot', { raw: file })).status).toBe(204)
  await until(async () => (await client.send('GET', 'kv/it')).status === 200)
  expect((await client.send('GET', 'kv/it')).json?.data).toEqual({ value: 'before' })
  await until(async () => nodes.all.every((node) => node.storageGeneration === 2))
  for (const node of nodes.without(active)) await until(async () => (await node.health()) === 473)
  await client.call('PUT', 'sys/step-down')
  const next = await nodes.active(nodes.without(active))
  expect((await nodes.clientOf(next).send('GET', 'kv/it')).json?.data).toEqual({ value: 'before' })
  expect((await nodes.clientOf(next).send('PUT', 'kv/it', { body: { value: 'on' } })).status).toBe(204)
})

test('a restored snapshot of another cluster seals every node, which the keys of that cluster unseal', async () => {
  const other = await open(['X'])
  await other.client.call('PUT', 'kv/it', { body: { value: 'other' } })
  const { bytes: file } = await other.client.send('GET', 'sys/storage/raft/snapshot')
  const { nodes, client } = await open(['A', 'B'])
  expect((await client.send('POST', 'sys/storage/raft/snapshot', { raw: file })).status).toBe(400)
  expect((await client.send('POST', 'sys/storage/raft/snapshot-force', { raw: file })).status).toBe(204)
  for (const node of nodes.all) await until(async () => (await node.health()) === 503)
  nodes.keys = other.nodes.keys
  nodes.rootToken = other.nodes.rootToken
  for (const node of nodes.all) await nodes.unseal(node)
  const active = await nodes.active()
  expect((await nodes.clientOf(active).send('GET', 'kv/it')).json?.data).toEqual({ value: 'other' })
})

test('requests do not wait for an index of the log that the restored snapshot comes from', async () => {
  const other = await open(['X'])
  const { bytes: file } = await other.client.send('GET', 'sys/storage/raft/snapshot')
  const written: ApiAnswer[] = []
  for (let count = 0; count < 200; count++) {
    written.push(await other.client.send('PUT', 'kv/it', { body: { value: 'after' } }))
  }
  const { auth } = await other.client.call('POST', 'auth/token/create', { body: { policies: ['default'] } })
  const { client_token: token } = auth as { client_token: string }
  const { nodes, client } = await open(['A', 'B'], {
    ...RAFT,
    replication: { best_effort_wal_wait_duration: '1h' },
  })
  expect((await client.send('POST', 'sys/storage/raft/snapshot-force', { raw: file })).status).toBe(204)
  for (const node of nodes.all) await until(async () => (await node.health()) === 503)
  nodes.keys = other.nodes.keys
  nodes.rootToken = other.nodes.rootToken
  for (const node of nodes.all) await nodes.unseal(node)
  await nodes.active()
  const index = String(written.at(-1)?.headers['x-vault-index'])
  const headers = { 'X-Vault-Index': index, 'X-Vault-Inconsistent': 'await-state' }
  for (const node of nodes.all) {
    expect((await node.send('GET', 'auth/token/lookup-self', { token })).status).toBe(403)
    expect((await nodes.clientOf(node).send('GET', 'sys/mounts', { headers })).status).toBe(200)
  }
})
