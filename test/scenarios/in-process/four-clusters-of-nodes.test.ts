import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { type LabCluster, startLab, waitFor } from '../../../src/index.js'

const WITHIN_MS = 60_000

/** Waits until a cluster returns this value. */
const reads = (cluster: LabCluster, word: string) =>
  waitFor(
    systemClock,
    `${cluster.name} to read "${word}"`,
    async () => {
      const { data } = await cluster.client.read('kv/greeting')
      const read = (data as { word?: string } | null)?.word
      return read === word ? undefined : `it reads "${read}"`
    },
    WITHIN_MS,
  )

it('two regions with DR secondaries survive changes of the active nodes and a failover', async () => {
  await using lab = await startLab('four', { nodes: 3, timeoutMs: WITHIN_MS })
  await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
  await lab.A.client.write('kv/greeting', { word: 'first' })
  await reads(lab.C, 'first')

  // The node that sends the log and the node that receives it, in each of the three links.
  for (const cluster of [lab.A, lab.C, lab.B, lab.D]) {
    const killed = cluster.activeNode
    await killed.crash()
    await cluster.active()
    await killed.start()
  }
  await lab.A.client.write('kv/greeting', { word: 'second' })
  await reads(lab.C, 'second')
  await lab.converged()

  const token = await lab.A.token()
  await lab.A.crash()
  await lab.failover('A', 'B', { acceptLoss: 'any' })
  await reads(lab.B, 'second')
  expect(await lab.B.token()).toBe(token)
  await lab.B.client.write('kv/greeting', { word: 'third' })
  await reads(lab.B, 'third')
})
