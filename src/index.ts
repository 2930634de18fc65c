/// <reference types="node" preserve="true" />
import { findNodeProblem } from './base/node-version.js'
import type { LabCluster } from './lab/in-process/in-process-cluster.js'
import { InProcessLab } from './lab/library/in-process-lab.js'
import type { InProcessLabOptions, SimulatedLabOptions } from './lab/library/options.js'
import { requireTopologyOf } from './lab/start/own-topology.js'
import { LabError } from './lab/model/lab-error.js'
import type { VirtualLab } from './lab/simulated/virtual-lab.js'
import type { SimulatedLab } from './lab/simulated/simulated-lab.js'
import type { Topology } from './lab/model/topology.js'

/**
 * The library: labs that run within a test, without processes, containers or a command line. test/api/examples.test.ts
 * compiles the example of each export.
 */

export type { ActivateOptions, OperationOptions, WaitOptions } from './lab/library/operable-lab.js'
export type {
  FailoverOptions,
  InProcessLabOptions as StartLabOptions,
  SimulatedLabOptions,
} from './lab/library/options.js'
export type { ClusterKeys } from './lab/model/cluster.js'
export type { LabCluster, StoppedCluster } from './lab/in-process/in-process-cluster.js'
export type { LabNode } from './lab/in-process/in-process-node.js'
export type { NodeState, NodeView } from './lab/status/node-view.js'
export type { SimulatedLab, SimulatedLabCluster, SimulatedLabNode } from './lab/simulated/simulated-lab.js'
export type { SimulatedLabClock } from './lab/simulated/virtual-time.js'
export type { SimulatedLink } from './lab/simulated/link.js'
export type { LabClock } from './lab/library/lab-clock.js'
export type { LabLink } from './lab/links/links.js'
export type { EventKind, LabEvent } from './lab/events/event.js'
export type { DrillResult } from './lab/drills/context/result.js'
export type { Kind } from './lab/model/kinds.js'
export type { LabSettings } from './lab/model/settings.js'
export type {
  ClusterPlan,
  Link,
  MountSeed,
  NodeCount,
  NodeStorage,
  SealPlan,
  Seed,
  Topology,
} from './lab/model/topology.js'
export type { Direction, Way } from './lab/proxy/direction.js'
export type { FaultName, Faults } from './lab/proxy/link-faults.js'
export type { LabErrorCode } from './lab/model/lab-error.js'
export { LabError }
export { type ApiAnswer, type ApiCall, ApiError, ApiUnreachable } from './client/api-client.js'
export { CheckedClient as ApiClient } from './lab/requests/checked-client.js'
export { InProcessLab } from './lab/library/in-process-lab.js'
export { listTopologies, loadTopology } from './lab/topology/catalogue.js'
export { waitFor } from './lab/requests/wait.js'
export { type Clock, systemClock } from './base/clock.js'

/**
 * The topologies that ship with the package, and the clusters of each.
 *
 * @example
 * import type { TopologyClusters } from 'understudy-lab'
 *
 * const all: readonly TopologyClusters['pr-dr'][] = ['A', 'B', 'C']
 */
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

/**
 * The name of a topology that ships with the package.
 *
 * @example
 * import { startLab, type TopologyName } from 'understudy-lab'
 *
 * const topologies: readonly TopologyName[] = ['dr', 'pr-dr', 'four']
 * for (const topology of topologies) {
 *   await using lab = await startLab(topology)
 *   await lab.converged()
 * }
 */
export type TopologyName = keyof TopologyClusters

/**
 * The path of a topology file: contains a slash or ends in `.yaml` or `.yml`. If the caller names the clusters, any
 * string is accepted.
 *
 * @example
 * import { startLab, type TopologyFile } from 'understudy-lab'
 *
 * const file: TopologyFile = 'test/topology.yaml'
 * await using lab = await startLab(file)
 * lab.cluster('A') // the compiler does not know the names in a file
 * await using typed = await startLab<'A' | 'B'>(process.env.TOPOLOGY ?? file)
 * typed.B
 */
export type TopologyFile = `${string}.yaml` | `${string}.yml` | `${string}/${string}`

type AnyTopology = TopologyName | TopologyFile | Topology

/** Options of a lab if the program decides only at run time whether it is simulated. */
type AnyOptions = InProcessLabOptions | SimulatedLabOptions

/** Accepts any string if the caller names the clusters. */
type NamedFile<Names extends string> = [Names] extends [never] ? never : string

/**
 * The names of a topology's clusters. The compiler knows them for an included topology or an object.
 *
 * @example
 * import { type ClustersOf, startLab, type TopologyName } from 'understudy-lab'
 *
 * const count = async <T extends TopologyName>(topology: T, ...names: ClustersOf<T>[]): Promise<number> => {
 *   await using lab = await startLab(topology)
 *   return names.map((name) => lab.cluster(name)).length
 * }
 * await count('dr', 'A', 'B')
 */
export type ClustersOf<T extends TopologyName | TopologyFile | Topology> = T extends TopologyName
  ? TopologyClusters[T]
  : T extends Topology
    ? T['clusters'][number]
    : string

/**
 * A lab with its clusters by name: `lab.A`. If the compiler does not know the names, use `lab.cluster('A')`. `await
 * using` closes the lab at the end of the scope; otherwise, call `close`.
 *
 * @example
 * import type { Lab } from 'understudy-lab'
 *
 * const isReplicated = async (lab: Lab<'A' | 'B'>): Promise<boolean> => {
 *   const { state } = await lab.B.status('dr')
 *   return state === 'stream-wals'
 * }
 */
export type Lab<Names extends string = string> = InProcessLab<Names> &
  (string extends Names ? unknown : Readonly<Record<Names, LabCluster>>)

/**
 * Starts clusters within this process, joins them, and resolves when they are replicated. The topology is the name of a
 * bundled topology, a file, or an object. Without links, the clusters are initialized and unsealed but independent.
 * Rejects with LabError: `usage` for an unknown topology, option or setting; `timeout` with the condition that was
 * still false.
 *
 * @example
 * import { startLab } from 'understudy-lab'
 *
 * const lab = await startLab('pr-dr', { seed: 42, settings: { heartbeat_interval: '100ms' } })
 * const own = await startLab({ name: 'two', about: 'two independent clusters', clusters: ['A', 'B'], links: [] })
 * await own.activate('A', 'B', { kind: 'dr' })
 * const filed = await startLab<'A' | 'B'>('test/topology.yaml')
 * const virtual = await startLab('dr', { simulated: true, seed: 42 }) // no sockets, no files, no real time
 * await Promise.all([lab.close(), own.close(), filed.close(), virtual.close()])
 */
export async function startLab<const T extends AnyTopology>(
  topology: T,
  options: SimulatedLabOptions,
): Promise<SimulatedLab<ClustersOf<T>>>
export async function startLab<Names extends string = never>(
  file: NamedFile<Names>,
  options: SimulatedLabOptions,
): Promise<SimulatedLab<Names>>
export async function startLab<const T extends AnyTopology>(
  topology: T,
  options?: InProcessLabOptions,
): Promise<Lab<ClustersOf<T>>>
export async function startLab<Names extends string = never>(
  file: NamedFile<Names>,
  options?: InProcessLabOptions,
): Promise<Lab<Names>>
export async function startLab<Names extends string = never>(
  file: NamedFile<Names>,
  options: AnyOptions,
): Promise<Lab<Names> | SimulatedLab<Names>>
export async function startLab<const T extends AnyTopology>(
  topology: T,
  options?: AnyOptions,
): Promise<Lab<ClustersOf<T>> | SimulatedLab<ClustersOf<T>>>
export async function startLab(topology: string | Topology, options: AnyOptions = {}): Promise<Lab | SimulatedLab> {
  const problem = findNodeProblem(process.versions.node)
  if (problem !== undefined) throw new LabError('usage', problem)
  const lab = await start(requireTopologyOf(topology), options)
  const byName = Object.fromEntries(lab.clusters.map((cluster) => [cluster.name, cluster]))
  // `lab.D` throws LabError `usage` with the names of the clusters if there is no cluster D.
  const missing = [...CLUSTER_LETTERS].filter((name) => !Object.hasOwn(byName, name))
  for (const name of missing) Object.defineProperty(lab, name, { get: () => lab.cluster(name) })
  return Object.assign(lab, byName)
}

const CLUSTER_LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

const start = async (topology: Topology, options: AnyOptions): Promise<InProcessLab | VirtualLab> => {
  if (!isSimulated(options)) return InProcessLab.start(topology, options)
  // Imported here so that labs with sockets do not load it.
  const { VirtualLab } = await import('./lab/simulated/virtual-lab.js')
  return VirtualLab.start(topology, options)
}

const isSimulated = (options: AnyOptions): options is SimulatedLabOptions => {
  const { simulated = false } = options ?? {}
  if (typeof simulated !== 'boolean') throw new LabError('usage', 'the option "simulated" must be true or false')
  return simulated
}

/**
 * Calls `startLab` with a topology whose cluster names the compiler does not know. Rejects as `startLab` does.
 *
 * @example
 * import { loadTopology, startLabOf } from 'understudy-lab'
 *
 * await using lab = await startLabOf<'A' | 'B'>(loadTopology('test/topology.yaml'))
 * await lab.failover('A', 'B')
 */
export const startLabOf = async <Names extends string>(
  topology: Topology,
  options: InProcessLabOptions = {},
): Promise<Lab<Names>> => (await startLab(topology, options)) as Lab<Names>
