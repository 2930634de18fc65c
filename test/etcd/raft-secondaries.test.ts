import { test } from 'vitest'
import type { Kind } from '../../src/lab/model/kinds.js'
import { enableSecondary, secondaryToken } from '../../src/lab/requests/replication.js'
import { join, launchRaft, type NodeProcess, openFirst, openRaft } from '../support/node-processes.js'
import { joinNodes, level } from '../support/node-replication.js'
import { expectAll, Writers } from '../support/node-writers.js'
import { TestNodes } from '../support/nodes.js'
import { until } from '../support/until.js'

/** Secondaries whose cluster has several nodes with storage "raft". */

test('a DR secondary with storage "raft" follows its primary after the active nodes of both clusters are killed', async () => {
  const primary = await openRaft()
  const secondary = await openRaft(['S', 'T', 'U'])
  // A standby of the primary refers callers to the active node.
  const [standby] = primary.nodes.without(primary.first)
  await joinNodes(primary.nodes, secondary.nodes, 'dr', { primaryAddress: standby?.clusterAddress ?? '' })
  const writers = new Writers(primary.nodes)
  await writers.more()
  await secondary.first.crash()
  await primary.first.crash()
  await writers.more()
  await secondary.first.start()
  await secondary.nodes.unseal(secondary.first)
  await primary.first.start()
  await primary.nodes.unseal(primary.first)
  await writers.stop()
  await level(primary.nodes, secondary.nodes, 'dr')
  await expectAll(primary.nodes.clientOf(await primary.nodes.active()), writers)
})

const subset = (all: TestNodes<NodeProcess>, ...nodes: NodeProcess[]): TestNodes<NodeProcess> =>
  Object.assign(new TestNodes(nodes), { keys: all.keys, rootToken: all.rootToken })

test.each<Kind>(['dr', 'performance'])(
  'a server that joins a new %s secondary receives the data and takes over from it',
  async (kind) => {
    const primary = await launchRaft(['P'])
    await openFirst(primary)
    const joining = await launchRaft(['S', 'T'])
    const [s, t] = joining.all as [NodeProcess, NodeProcess]
    const alone = subset(joining, s)
    await openFirst(alone)
    const above = primary.clientOf(await primary.active())
    await above.write(`sys/replication/${kind}/primary/enable`, {})
    await primary.active()
    await enableSecondary(alone.clientOf(s), kind, await secondaryToken(above, kind, 'second'))
    // Without a wait, the secondary has never received a key share of the primary.
    await join(t, s)
    await primary.unseal(t)
    const nodes = subset(primary, s, t)
    await level(primary, nodes, kind)
    await level(primary, nodes, kind)
    // Only the server is suspended: the other node needs its etcd member for the election.
    s.signal('SIGSTOP')
    const left = subset(nodes, t)
    await until(async () => (await left.serving()) === t)
    await level(primary, left, kind)
    await primary.clientOf(await primary.active()).call('PUT', 'kv/it', { body: { value: 'for both' } })
    await level(primary, left, kind)
  },
)
