import { rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { openForInspection } from '../../src/storage/inspection/inspect.js'
import { startEtcd } from '../support/etcd.js'
import type { Link } from '../../src/lab/proxy/link.js'
import { openLink } from '../support/open-link.js'
import { type NodeProcess, nodeProcesses } from '../support/node-processes.js'
import { expectAll, expectGoesOnWithout, Writers } from '../support/node-writers.js'
import type { TestNodes } from '../support/nodes.js'
import { until } from '../support/until.js'

/** Three servers over an etcd: what is on the disk of each, and what becomes of one that cannot reach the etcd. */

const NAMES = ['A', 'B', 'C']

/** Each reaches the etcd by a way of its own. */
const open = async (settings: object = {}) => {
  const etcd = await startEtcd()
  const ways = new Map<string, Link>()
  for (const name of NAMES) ways.set(name, await openLink(etcd.port))
  const wayOf = (name: string): Link => {
    const way = ways.get(name)
    if (!way) throw new Error(`no way for ${name}`)
    return way
  }
  const nodes = await nodeProcesses(NAMES, (name) => `127.0.0.1:${wayOf(name).port}`, settings)
  onTestFinished(async () => {
    for (const way of ways.values()) await way.close()
  })
  await Promise.all(nodes.all.map((node) => node.start()))
  await nodes.open()
  await nodes.clientOf(await nodes.active()).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  return { nodes, wayOf }
}

/** Everything that the live generation of a node that has ended holds, as it is stored. */
const contentOf = async (node: NodeProcess): Promise<Map<string, string>> => {
  const content = new Map<string, string>()
  for await (const { isLive, engine } of openForInspection(node.copyDirectory)) {
    if (!isLive) continue
    for await (const chunk of engine.scan({}))
      for (const { key, value } of chunk) content.set(key, value.toString('hex'))
  }
  return content
}

const appliedOf = async (nodes: TestNodes<NodeProcess>): Promise<readonly unknown[]> => {
  const answers = await Promise.all(nodes.all.map((node) => node.anonymous.read('sys/leader')))
  return answers.map((answer) => answer.raft_applied_index)
}

test('copies are equal byte for byte after failovers, also of a node that began with an empty directory', async () => {
  // Nobody takes over from the one that is killed at the end.
  const { nodes } = await open({ leader_lease: '60s' })
  const writers = new Writers(nodes)
  for (let turn = 0; turn < 3; turn++) {
    await writers.more()
    const steppingDown = await nodes.active()
    await nodes.clientOf(steppingDown).call('PUT', 'sys/step-down')
    const next = await nodes.active(nodes.without(steppingDown))
    const emptied = turn === 0 ? steppingDown : (nodes.without(next)[0] as NodeProcess)
    await emptied.stop()
    rmSync(emptied.copyDirectory, { recursive: true })
    await emptied.start()
    await nodes.unseal(emptied)
  }
  await writers.more()
  await writers.stop()
  const active = await nodes.active()
  await expectAll(nodes.clientOf(active), writers)
  await until(async () => new Set(await appliedOf(nodes)).size === 1)
  for (const node of [active, ...nodes.without(active)]) await node.crash()
  const [first, ...others] = await Promise.all(nodes.all.map(contentOf))
  expect(first?.size).toBeGreaterThan(writers.acknowledged.size)
  for (const other of others) expect(other).toEqual(first)
})

test('an active node that cannot reach the etcd acknowledges nothing, and is level when it can again', async () => {
  const { nodes, wayOf } = await open()
  const writers = new Writers(nodes)
  for (const way of ['both', 'down'] as const) {
    await writers.more()
    await expectGoesOnWithout(nodes, {
      hinder: ({ name }) => wayOf(name).hold(way),
      requestGc: ({ name }) => wayOf(name).release(),
    })
  }
  await writers.more()
  await writers.stop()
  await expectAll(nodes.clientOf(await nodes.active()), writers)
})
