import { waitForReplication } from './clusters.js'
import { readMetrics } from './metrics.js'
import { waitUntil } from './position.js'
import type { BenchServer } from './servers.js'

export interface Filter {
  readonly mode: 'allow' | 'deny'
  readonly paths: readonly string[]
}

export interface Pair {
  readonly primary: BenchServer
  readonly secondary: BenchServer
}

/** Resolves when the secondary has compared all keys under the new filter, and destroyed the filtered data. */
export const setFilter = async ({ primary, secondary }: Pair, filter: Filter | undefined): Promise<void> => {
  const path = `sys/replication/performance/primary/paths-filter/performance-${secondary.name}`
  const before = await comparisons(secondary)
  if (filter) await primary.client().write(path, filter)
  else await primary.client().delete(path)
  await waitUntil('the filter to be applied', async () => (await comparisons(secondary)) > before, 20)
  const isPurged = async () => !(await secondary.client().read('/_understudy/v1/info')).purge_pending
  await waitUntil('the filtered data to be destroyed', isPurged, 20)
  await waitForReplication(primary, secondary)
}

const comparisons = async (secondary: BenchServer): Promise<number> => {
  const metrics = await readMetrics(secondary)
  const count = (name: string) => metrics.get(`vault_replication_${name}_count`) ?? 0
  return count('merkleDiff') + count('merkleSync')
}
