import { askChild, endChild, forkScript } from '../child.js'
import { SECRET } from '../clusters.js'
import type { BenchServer } from '../servers.js'
import type { FillAnswer, FillTask } from './plan.js'

/** Number of parallel writes. A higher number is not faster. */
const WRITERS = 1024

/**
 * Stops a server, writes `keys` secrets `kv1/k<n>` directly to its storage, and starts it again. This is five times as fast
 * as HTTP requests. To verify the data, copy it to a secondary. The secondary computes its tree from the values, and must
 * have the same root.
 */
export const fillStopped = async (server: BenchServer, dist: string, keys: number): Promise<void> => {
  await server.stop()
  const child = forkScript('load/fill-worker.ts', [dist])
  try {
    const task: FillTask = {
      config: server.configFile,
      unsealKeys: server.unsealKeys,
      mount: 'kv1/',
      name: 'k{n}',
      keys,
      body: JSON.stringify(SECRET),
      writers: WRITERS,
    }
    const answer = await askChild<FillAnswer>(child, task)
    if (!answer.ok) throw new Error(answer.error)
  } finally {
    endChild(child)
  }
  await server.start()
  await server.unseal()
  await requireSecret(server, keys - 1)
}

const requireSecret = async (server: BenchServer, n: number): Promise<void> => {
  const { data } = await server.client().read(`kv1/k${n}`)
  if (JSON.stringify(data) !== JSON.stringify(SECRET)) throw new Error(`kv1/k${n} does not have the written value`)
}
