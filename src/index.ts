import type { LabCluster } from './lab/in-process-cluster.js'
import { InProcessLab, type InProcessLabOptions } from './lab/in-process-lab.js'
import { requireTopology, type Topology } from './lab/topology.js'

/**
 * The library: labs that run within a test, without processes, containers or a command line.
 *
 *   await using lab = await startLab('pr-dr')
 *   await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
 *   lab.link('A', 'C').partition()
 */

export type { LabClock, InProcessLabOptions as StartLabOptions } from './lab/in-process-lab.js'
export type { ClusterKeys, LabCluster } from './lab/in-process-cluster.js'
export type { LabLink } from './lab/links.js'
export type { Kind } from './lab/kinds.js'
export type { LabSettings } from './lab/settings.js'
export type { ClusterPlan, Link, MountSeed, SealPlan, Seed, Topology } from './lab/topology.js'
export type { Direction, FaultName, Faults, Way } from './lab/proxy/faults.js'
export type { LabErrorCode } from './lab/lab-error.js'
export { LabError } from './lab/lab-error.js'
export { type ApiAnswer, type ApiCall, ApiClient, ApiError, ApiUnreachable } from './client/api-client.js'
export { InProcessLab } from './lab/in-process-lab.js'
export { listTopologies, loadTopology } from './lab/topology.js'
export { waitFor } from './lab/wait.js'
export { type Clock, systemClock } from './base/clock.js'

/** The topologies that ship with the package, and the clusters that each has. */
export interface TopologyClusters {
  readonly single: 'A'
  readonly dr: 'A' | 'B'
  readonly pr: 'A' | 'C'
  readonly 'pr-dr': 'A' | 'B' | 'C'
  readonly four: 'A' | 'B' | 'C' | 'D'
  readonly six: 'A' | 'B' | 'C' | 'D' | 'E' | 'F'
  readonly filtered: 'A' | 'C' | 'E'
  readonly lb: 'A' | 'B' | 'C'
  readonly pubkey: 'A' | 'C'
}

export type TopologyName = keyof TopologyClusters

/** A lab with its clusters by name: `lab.A`. Ends with its scope when it is held by `await using`, else with `close`. */
export type Lab<Names extends string = string> = InProcessLab & Readonly<Record<Names, LabCluster>>

/**
 * Starts clusters within this process, joins them, and resolves when they are replicated. Throws LabError: `usage` for a
 * topology that is not known, `timeout` with the fact that was still false.
 */
export const startLab = async <N extends TopologyName>(
  topology: N,
  options: InProcessLabOptions = {},
): Promise<Lab<TopologyClusters[N]>> => {
  return startLabOf(requireTopology(topology), options)
}

/** The same for a topology of one's own. Without links the clusters are open and know nothing of one another. */
export const startLabOf = async <Names extends string>(
  topology: Topology,
  options: InProcessLabOptions = {},
): Promise<Lab<Names>> => {
  const lab = await InProcessLab.start(topology, options)
  const byName = Object.fromEntries(lab.clusters.map((cluster) => [cluster.name, cluster]))
  return Object.assign(lab, byName as Record<Names, LabCluster>)
}
