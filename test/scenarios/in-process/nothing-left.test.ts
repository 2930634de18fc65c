import { it } from 'vitest'
import { startLab } from '../../../src/index.js'
import { until } from '../../support/until.js'

/** What keeps this process alive, by kind. */
const resources = (): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

const KINDS = ['TCPSocketWrap', 'TCPServerWrap']

it.each(['stop', 'crash'] as const)('a server that ended by %s leaves no socket and no port behind', async (end) => {
  const before = resources()
  {
    await using lab = await startLab('pr-dr', { storage: 'disk' })
    await lab.A.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
    for (const cluster of [lab.A, lab.B, lab.C]) await cluster[end]()
    for (const cluster of [lab.A, lab.B, lab.C]) await cluster.start()
    await lab.converged()
    for (const cluster of [lab.A, lab.B, lab.C]) await cluster[end]()
  }
  await until(() => {
    const now = resources()
    return KINDS.every((kind) => (now[kind] ?? 0) <= (before[kind] ?? 0))
  })
})
