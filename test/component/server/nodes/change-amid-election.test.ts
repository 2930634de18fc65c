import { expect, test } from 'vitest'
import { type Log, silentLog } from '../../../../src/base/log.js'
import { type MemoryNode, startMemoryNodes } from '../../../support/memory-nodes.js'

/** What opens a cluster may ask for another runtime before the cluster is open, as the destruction of filtered data does. */

/** A cluster of one node, and what is called at each line of its log. */
const open = async () => {
  let onLine: (message: string) => void = () => undefined
  const log: Log = { ...silentLog, with: () => log, info: (message) => onLine(message) }
  const nodes = await startMemoryNodes(['A'], { log: () => log })
  await nodes.open()
  const [node] = nodes.all as [MemoryNode]
  /** Resolves when the work is over, which is begun at the first of these lines. */
  const once = (line: string, work: () => Promise<unknown>) =>
    new Promise<void>((resolve, reject) => {
      onLine = (message) => {
        if (message !== line) return
        onLine = () => undefined
        work().then(() => resolve(), reject)
      }
    })
  return { nodes, node, once }
}

test('a node whose data is replaced by what opens its cluster serves all the same', async () => {
  const { nodes, node, once } = await open()
  const client = nodes.clientOf(node)
  const enabled = once('replication started', async () => undefined)
  await client.call('PUT', 'sys/replication/performance/primary/enable')
  await enabled
  await nodes.active()
  const moved = once('replication started', () => node.moveData())
  await client.call('PUT', 'sys/step-down')
  await moved
  expect(await nodes.active()).toBe(node)
  await client.call('PUT', 'sys/policies/acl/after', { body: { policy: '# nothing' } })
})
