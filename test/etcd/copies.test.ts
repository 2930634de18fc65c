import { rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { openForInspection } from '../../src/storage/inspection/inspect.js'
import { startEtcd } from '../support/etcd.js'
import type { Link } from '../../src/lab/proxy/link.js'
import { openLink } from '../support/open-link.js'
import { type NodeProcess, nodeProcesses } from '../support/node-processes.js'
import { expectAll, expectFailoverDuring, Writers } from '../support/node-writers.js'
import type { TestNodes } from '../support/nodes.js'
import { until } from '../support/until.js'

/** The copies on the disks of three servers over etcd, and a server that loses its connection to etcd. */

const NAMES = ['A', 'B', 'C']

/** Each node reaches etcd through its own link. */
const open = async (settings: object = {}) => {
  const etcd = await startEtcd()
  const links = new Map<string, Link>()
  for (const name of NAMES) links.set(name, await openLink(etcd.port))
  const linkOf = (name: string): Link => {
    const link = links.get(name)
    if (!link) throw new Error(`no link for ${name}`)
    return link
  }
  const nodes = await nodeProcesses(NAMES, (name) => `127.0.0.1:${linkOf(name).port}`, settings)
  onTestFinished(async () => {
    for (const link of links.values()) await link.close()
  })
  await Promise.all(nodes.all.map((node) => node.start()))
  await nodes.open()
  await nodes.clientOf(await nodes.active()).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  return { nodes, linkOf }
}

/** Returns all stored entries of the live generation of a stopped node, with values in hex. */
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

test('copies on disk are equal byte for byte after failovers, even if a node started with an empty directory', async () => {
  // With a long lease, no node takes over from the active node that is killed at the end.
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

test('an active node that cannot reach etcd acknowledges no write, and catches up after it reconnects', async () => {
  const { nodes, linkOf } = await open()
  const writers = new Writers(nodes)
  for (const direction of ['both', 'down'] as const) {
    await writers.more()
    await expectFailoverDuring(nodes, {
      block: ({ name }) => linkOf(name).hold(direction),
      unblock: ({ name }) => linkOf(name).release(),
    })
  }
  await writers.more()
  await writers.stop()
  await expectAll(nodes.clientOf(await nodes.active()), writers)
})
