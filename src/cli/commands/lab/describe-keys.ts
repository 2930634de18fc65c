import type { ClusterAccess } from '../../../lab/model/cluster.js'

/**
 * Returns the keys of clusters, one per line. Clusters with the same keys, because of replication, have one entry. The
 * keys of a cluster that unseals itself are recovery keys, which cannot unseal it.
 */
export const describeKeys = (
  clusters: readonly ClusterAccess[],
  isAutoSealed: (cluster: string) => boolean,
): string[] => {
  const groups = new Map<string, ClusterAccess[]>()
  for (const cluster of clusters.filter(({ unsealKeys }) => unsealKeys.length > 0)) {
    const id = [isAutoSealed(cluster.name), cluster.threshold, ...cluster.unsealKeys].join()
    groups.set(id, [...(groups.get(id) ?? []), cluster])
  }
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (!first) return []
    const { unsealKeys, threshold } = first
    const names = [first, ...others].map(({ name }) => name).join(', ')
    const count = unsealKeys.length === 1 ? '' : ` (threshold ${threshold} of ${unsealKeys.length})`
    const what = isAutoSealed(first.name) ? 'recovery keys' : 'key shares'
    return [`${what} of ${names}${count}:`, ...unsealKeys.map((key) => `  ${key}`)]
  })
}
