import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { statusOf } from '../../../src/lab/requests/replication.js'
import { joinClusters } from '../../../src/lab/wiring/join.js'
import { type MemoryNode, startLoneNode, startMemoryNodes } from '../../support/memory-nodes.js'
import type { TestNodes } from '../../support/nodes.js'

const accessOf = (name: string, nodes: TestNodes<MemoryNode>, first: MemoryNode) => ({
  ...{ name, apiAddress: first.address, rootToken: nodes.rootToken, unsealKeys: nodes.keys, threshold: 2 },
  ...(nodes.all.length > 1 && { nodes: nodes.all.map((node) => ({ name: node.name, apiAddress: node.address })) }),
})

it.each(['dr', 'performance'] as const)(
  'a cluster of several nodes becomes a %s secondary through its active node, even if the first node is sealed',
  async (kind) => {
    const settings = { lab_api: 'true', heartbeat_interval: '100ms' }
    const primary = await startLoneNode('A', { settings })
    await primary.open()
    const secondary = await startMemoryNodes(['B1', 'B2'], { settings })
    await secondary.open()
    const active = await secondary.active()
    const [sealed] = secondary.without(active)
    const [a] = primary.all
    if (!a || !sealed) throw new Error('no nodes')
    await secondary.clientOf(sealed).call('PUT', 'sys/seal')
    const joined = await joinClusters(
      [accessOf('A', primary, a), accessOf('B', secondary, sealed)],
      [{ kind, primary: 'A', secondary: 'B' }],
      { timeoutMs: 20_000, clock: systemClock },
    )
    expect((await statusOf(active.anonymous, kind)).state).toBe('stream-wals')
    expect(joined.map(({ rootToken }) => rootToken !== '')).toEqual([true, kind === 'performance'])
  },
)
