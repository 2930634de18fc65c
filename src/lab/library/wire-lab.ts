import type { ClusterAccess } from '../model/cluster.js'
import type { LabCluster } from '../in-process/in-process-cluster.js'
import type { Topology } from '../model/topology.js'
import { makeTopology, openCluster, type WireOptions } from '../wiring/wire.js'
import type { KeyRing } from '../keys/key-ring.js'

interface FreshLab {
  readonly clusters: readonly LabCluster[]
  readonly topology: Topology
}

/** Initializes the running clusters of a lab and joins them as its topology describes. Afterwards, all are unsealed. */
export const wireLab = async (
  { clusters, topology }: FreshLab,
  keys: KeyRing,
  given: Omit<WireOptions, 'plans' | 'onProgress'>,
): Promise<void> => {
  const options: WireOptions = { ...given, plans: topology.plans, onProgress: () => undefined }
  // The nodes of a secondary seal themselves when it joins.
  const openAll = async (known: readonly ClusterAccess[]) => {
    for (const one of known) keys.set(one.name, one)
    await Promise.all(clusters.filter(({ nodes }) => nodes.length > 1).map((cluster) => cluster.open()))
  }
  const open = await Promise.all(keys.access().map((cluster) => openCluster(cluster, options)))
  await openAll(open)
  await openAll(await makeTopology(open, topology, options))
}
