import { expect, test } from 'vitest'
import type { ApiClient } from '../../src/client/api-client.js'
import { type NodeProcess, openRaft, untilAllVote } from '../support/node-processes.js'
import { TestNodes } from '../support/nodes.js'
import { until } from '../support/until.js'

/** The autopilot of the active node: health of the nodes, and removal of dead ones. */

const open = async (names: readonly string[]): Promise<TestNodes<NodeProcess>> => {
  const { nodes } = await openRaft(names)
  await untilAllVote(nodes)
  return nodes
}

const CONFIGURATION = 'sys/storage/raft/autopilot/configuration'

interface State {
  readonly healthy: boolean
  readonly failure_tolerance: number
  readonly servers: Readonly<Record<string, { healthy: boolean; node_status: string; stable_since?: string }>>
}

const stateBy = async (client: ApiClient): Promise<State> =>
  (await client.read('sys/storage/raft/autopilot/state')).data as unknown as State

const stateOf = async (nodes: TestNodes<NodeProcess>): Promise<State> => stateBy(nodes.clientOf(await nodes.active()))

const HEALTHY = { healthy: true, node_status: 'alive', stable_since: expect.any(String) }

test('the autopilot configuration survives a failover, and the state reports a dead node', async () => {
  const nodes = await open(['A', 'B', 'C'])
  const [a, b] = nodes.all as [NodeProcess, NodeProcess, NodeProcess]
  await nodes.clientOf(b).call('POST', CONFIGURATION, { body: { last_contact_threshold: '7s' } })
  await until(async () => (await stateOf(nodes)).healthy)
  expect(await stateOf(nodes)).toMatchObject({ failure_tolerance: 1, servers: { A: HEALTHY, B: HEALTHY, C: HEALTHY } })
  await a.crash()
  const next = nodes.clientOf(await nodes.active())
  expect((await next.read(CONFIGURATION)).data).toMatchObject({ last_contact_threshold: '7s' })
  await until(async () => (await stateOf(nodes)).failure_tolerance === 0)
  const { healthy, servers } = await stateOf(nodes)
  expect([healthy, servers.A?.node_status, servers.A?.stable_since]).toEqual([false, 'failed', undefined])
})

test('autopilot removes a dead node if configured, and keeps the minimum quorum', async () => {
  const nodes = await open(['A', 'B', 'C', 'D'])
  const [a, b, c, d] = nodes.all as [NodeProcess, NodeProcess, NodeProcess, NodeProcess]
  const body = { cleanup_dead_servers: true, dead_server_last_contact_threshold: '1m', min_quorum: 3 }
  const client = nodes.clientOf(a)
  await client.call('POST', CONFIGURATION, { body })
  await d.crash()
  await until(async () => !('D' in (await stateBy(client)).servers))
  const others = new TestNodes([a, b, c])
  Object.assign(others, { keys: nodes.keys, rootToken: nodes.rootToken })
  expect((await stateOf(others)).failure_tolerance).toBe(1)
  await client.call('PUT', 'kv/it', { body: { value: 'without it' } })
  await d.start()
  await until(async () => (await d.health()) === 530)
})
