import { expect, test } from 'vitest'
import { type Log, silentLog } from '../../../../src/base/log.js'
import { type MemoryNode, startMemoryNodes } from '../../../support/memory-nodes.js'

/** A restart that is requested while a cluster opens, for example to destroy filtered data. */

/** Starts a cluster of one node whose log lines can trigger an action. */
const open = async () => {
  let onLine: (message: string) => void = () => undefined
  const log: Log = { ...silentLog, with: () => log, info: (message) => onLine(message) }
  const nodes = await startMemoryNodes(['A'], { log: () => log })
  await nodes.open()
  const [node] = nodes.all as [MemoryNode]
  /** Runs `work` at the first occurrence of the log line. Resolves when it has ended. */
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

test('a node whose data is replaced while it becomes active serves clients afterwards', async () => {
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
