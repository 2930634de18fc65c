import type { Kind } from './kinds.js'
import { LabError } from './lab-error.js'
import type { PortPair } from './ports.js'
import type { LabSettings } from './settings.js'

/**
 * One replication link. `primary` and `secondary` are the initial roles, which can change. Times are in milliseconds.
 *
 * @example
 * import { type Link, startLab } from 'understudy-lab'
 *
 * const far: Link = { kind: 'performance', primary: 'A', secondary: 'C', latencyMs: 80, jitterMs: 20 }
 * await using lab = await startLab({ name: 'far', about: 'C is far away', clusters: ['A', 'C'], links: [far] })
 */
export interface Link {
  readonly kind: Kind
  readonly primary: string
  readonly secondary: string
  /** `token` (default): a wrapping token, which the secondary unwraps at the API of its primary. */
  readonly activation?: 'token' | 'public-key'
  /** The mounts and namespaces that a performance link replicates. */
  readonly filter?: { readonly mode: 'allow' | 'deny'; readonly paths: readonly string[] }
  /** Permanent latency in each direction. */
  readonly latencyMs?: number
  readonly jitterMs?: number
}

/**
 * How a cluster is unsealed. With auto-unseal (`auto`), its keys are recovery keys.
 *
 * @example
 * import { type SealPlan, startLab } from 'understudy-lab'
 *
 * const seal: SealPlan = { type: 'shamir', shares: 5, threshold: 3 }
 * const plans = { A: { seal } }
 * await using lab = await startLab({ name: 'one', about: '', clusters: ['A'], links: [], plans })
 */
export interface SealPlan {
  readonly type: 'shamir' | 'auto'
  readonly shares: number
  readonly threshold: number
}

/**
 * Data that is written when a cluster is unsealed, before secondaries join, so that they receive it with their first
 * copy.
 *
 * @example
 * import { type Seed, startLab } from 'understudy-lab'
 *
 * const seed: Seed = {
 *   mounts: { kv: { type: 'kv', version: 2 } },
 *   policies: { reader: 'path "kv/*" { capabilities = ["read"] }' },
 *   approle: { ci: { token_policies: 'reader' } },
 *   secrets: { 'kv/greeting': { word: 'hello' } },
 * }
 * await using lab = await startLab({ name: 'one', about: '', clusters: ['A'], links: [], plans: { A: { seed } } })
 */
export interface Seed {
  readonly mounts?: Readonly<Record<string, MountSeed | null>>
  readonly policies?: Readonly<Record<string, string>>
  readonly approle?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>>
  /** By paths as in `vault kv put`. */
  readonly secrets?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/**
 * A secrets engine of seed data. Default: `kv`, version 2.
 *
 * @example
 * import type { MountSeed, Seed } from 'understudy-lab'
 *
 * const versioned: MountSeed = { type: 'kv', version: 2, description: 'what the application reads' }
 * const here: MountSeed = { local: true } // never replicated
 * const seed: Seed = { mounts: { app: versioned, here } }
 */
export interface MountSeed {
  readonly type?: string
  readonly version?: number
  readonly local?: boolean
  readonly description?: string
}

/**
 * The settings of one cluster in a topology. Ports apply to labs of processes. A lab in this process chooses free ones.
 *
 * @example
 * import { type ClusterPlan, startLab } from 'understudy-lab'
 *
 * const old: ClusterPlan = { version: '1.18.0+ent', license: 'plus', settings: { allow_older_secondary: true } }
 * await using lab = await startLab({ name: 'one', about: '', clusters: ['A'], links: [], plans: { A: old } })
 */
export interface ClusterPlan {
  /** Number of servers of the cluster, one of them active. Default: 1. */
  readonly nodes?: NodeCount
  /** Storage of a multi-node cluster in labs of processes: see `NodeStorage`. */
  readonly storage?: NodeStorage
  readonly seal?: SealPlan
  readonly license?: 'enterprise' | 'plus' | 'none'
  /** The version that it reports. */
  readonly version?: string
  /** Whether the cluster's API uses TLS with a certificate of the lab. */
  readonly tls?: boolean
  /** Settings of the stanza `understudy`. */
  readonly settings?: LabSettings
  readonly ports?: PortPair
  /** How other clusters reach the cluster: `direct` (default), `load-balancer`, or `cluster-port` (without its API). */
  readonly reach?: 'direct' | 'load-balancer' | 'cluster-port'
  readonly seed?: Seed
}

/**
 * The clusters and replication links of a topology file.
 *
 * @example
 * import { startLab, type Topology } from 'understudy-lab'
 *
 * const topology = {
 *   name: 'chain',
 *   about: 'C follows A, and D is the disaster recovery of C',
 *   clusters: ['A', 'C', 'D'],
 *   links: [
 *     { kind: 'performance', primary: 'A', secondary: 'C' },
 *     { kind: 'dr', primary: 'C', secondary: 'D' },
 *   ],
 * } as const satisfies Topology
 * await using lab = await startLab(topology)
 * await lab.D.status('dr')
 */
export interface Topology {
  readonly name: string
  readonly about: string
  readonly clusters: readonly string[]
  /** In creation order: a performance link before the DR link of the same secondary. */
  readonly links: readonly Link[]
  /** The plans of clusters with non-default settings. */
  readonly plans?: Readonly<Record<string, ClusterPlan>>
}

export const planOf = ({ plans = {} }: Topology, cluster: string): ClusterPlan => plans[cluster] ?? {}

export const NODE_STORAGES = ['etcd', 'raft'] as const

/**
 * Storage of a multi-node cluster in a lab of processes. `etcd` (default): one etcd of the lab stores the data. `raft`:
 * each node stores the data; nodes join the first node by `retry_join` and need a quorum.
 *
 * @example
 * import { type NodeStorage, type Topology } from 'understudy-lab'
 *
 * const storage: NodeStorage = 'raft'
 * const plans = { A: { nodes: 3, storage } } as const
 * const topology: Topology = { name: 'one', about: 'three members', clusters: ['A'], links: [], plans }
 */
export type NodeStorage = (typeof NODE_STORAGES)[number]

/** Throws LabError `usage` if a cluster has storage "raft", because nodes in one process share memory. */
export const requireSharedMemory = (topology: Topology): void => {
  const found = topology.clusters.find((name) => hasPeers(topology, name))
  if (found !== undefined)
    throw new LabError('usage', `cluster ${found} has nodes with storage "raft", which require a lab of processes`)
}

/** Whether a cluster has several nodes, each of which stores a copy of the data (storage "raft"). */
export const hasPeers = (topology: Topology, cluster: string): boolean =>
  serversOf(topology, cluster).length > 1 && planOf(topology, cluster).storage === 'raft'

export const NODE_COUNTS = [1, 3, 5] as const

/**
 * The possible numbers of servers of a cluster.
 *
 * @example
 * import { type NodeCount, startLab } from 'understudy-lab'
 *
 * for (const nodes of [1, 3] satisfies NodeCount[]) {
 *   await using lab = await startLab('single', { nodes })
 *   console.log(lab.A.nodes.length)
 * }
 */
export type NodeCount = (typeof NODE_COUNTS)[number]

/**
 * Throws LabError `usage` if a cluster has several servers. `what`: the feature that supports only one, for the
 * message.
 */
export const requireSingle = (topology: Topology, what: string): void => {
  const several = topology.clusters.find((name) => serversOf(topology, name).length > 1)
  if (several !== undefined)
    throw new LabError('usage', `cluster ${several} has several nodes, but ${what} supports one node per cluster`)
}

/**
 * Returns the topology with this number of servers per cluster, without fixed ports if there are several. Throws
 * LabError `usage` if a cluster has the name of a node of another cluster.
 */
export const withNodes = (topology: Topology, nodes: NodeCount): Topology => {
  const plans = Object.fromEntries(
    topology.clusters.map((name) => {
      const { ports, ...plan } = planOf(topology, name)
      return [name, { ...plan, nodes, ...(nodes === 1 && ports && { ports }) }]
    }),
  )
  const [clash] = findNameClashes(topology.clusters, () => nodes)
  if (clash) throw new LabError('usage', clash.text)
  return { ...topology, plans }
}

/** Finds clusters that have the name of a node of another cluster. */
export const findNameClashes = (
  clusters: readonly string[],
  nodesOf: (cluster: string) => number,
): readonly { readonly cluster: string; readonly text: string }[] =>
  clusters.flatMap((name) =>
    nodeNamesOf(name, nodesOf(name))
      .filter((node) => node !== name && clusters.includes(node))
      .map((node) => ({ cluster: node, text: `cluster ${node} has the name of a node of cluster ${name}` })),
  )

export const allServersOf = (topology: Topology): readonly string[] =>
  topology.clusters.flatMap((name) => serversOf(topology, name))

/** Returns the server names of a cluster: the cluster's name for a single server, else `A1`, `A2` and so on. */
export const serversOf = (topology: Topology, cluster: string): readonly string[] =>
  nodeNamesOf(cluster, planOf(topology, cluster).nodes ?? 1)

const nodeNamesOf = (cluster: string, nodes: number): readonly string[] =>
  nodes === 1 ? [cluster] : Array.from({ length: nodes }, (_, index) => `${cluster}${index + 1}`)
