import type { Cluster } from './clusters.js'

/**
 * Returns the last index that the cluster has trimmed from its log. A secondary below it cannot continue from the log.
 */
export const lastTrimmed = async (cluster: Cluster): Promise<number> => {
  const { bytes } = await cluster.anonymous.send('GET', '/_understudy/v1/metrics')
  return Number(/^vault_replication_wal_gc (\d+)/m.exec(bytes.toString())?.[1])
}

/** Waits until the log of `primary` no longer contains the entry after `index`. */
export const untilTrimmed = (primary: Cluster, index: number): Promise<void> =>
  primary.until(`trim its log beyond ${index}`, async () => {
    const trimmed = await lastTrimmed(primary)
    return trimmed > index ? undefined : `the log is trimmed up to ${trimmed}`
  })
