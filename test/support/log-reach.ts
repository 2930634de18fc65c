import type { Cluster } from './clusters.js'

/** The last index that is no longer in the cluster's log: whoever stands before it cannot go on from there. */
export const lastTrimmed = async (cluster: Cluster): Promise<number> => {
  const { bytes } = await cluster.anonymous.send('GET', '/_understudy/v1/metrics')
  return Number(/^vault_replication_wal_gc (\d+)/m.exec(bytes.toString())?.[1])
}

/** Waits until the log of `primary` no longer reaches back to `index`. */
export const untilTrimmed = (primary: Cluster, index: number): Promise<void> =>
  primary.until(`trim its log beyond ${index}`, async () => {
    const gone = await lastTrimmed(primary)
    return gone > index ? undefined : `${gone} is the last index that is gone`
  })
