import type { Kind } from './kinds.js'
import { LabError } from './lab-error.js'
import type { PortPair } from './ports.js'
import type { LabSettings } from './settings.js'

/**
 * One replication link. Clusters are named by place, because roles move. Times are milliseconds.
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
  /** `token`, unless said otherwise: a wrapping token, which the secondary unwraps at the API of its primary. */
  readonly activation?: 'token' | 'public-key'
  /** Which mounts and namespaces go over a performance link. */
  readonly filter?: { readonly mode: 'allow' | 'deny'; readonly paths: readonly string[] }
  /** Each way, always. */
  readonly latencyMs?: number
  readonly jitterMs?: number
}

/**
 * How a cluster is opened; the keys of a seal that opens by itself (`auto`) are recovery keys.
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
 * Written once a cluster is open: before others follow it, so that they get it with their first copy.
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
  /** By paths as `vault kv put` takes them. */
  readonly secrets?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/**
 * A secrets engine of seed data; `kv`, version 2, unless said otherwise.
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
 * The settings of one cluster in a topology. Ports are for labs of processes; a lab in this process chooses free ones.
 *
 * @example
 * import { type ClusterPlan, startLab } from 'understudy-lab'
 *
 * const old: ClusterPlan = { version: '1.18.0+ent', license: 'plus', settings: { allow_older_secondary: true } }
 * await using lab = await startLab({ name: 'one', about: '', clusters: ['A'], links: [], plans: { A: old } })
 */
export interface ClusterPlan {
  /** Servers of the cluster, one of which is active; 1 unless said otherwise. */
  readonly nodes?: NodeCount
  /** Where its data lies when it has several servers, as processes: see `NodeStorage`. */
  readonly storage?: NodeStorage
  readonly seal?: SealPlan
  readonly license?: 'enterprise' | 'plus' | 'none'
  /** The version it reports. */
  readonly version?: string
  /** Whether the cluster's API speaks TLS with a certificate of the lab. */
  readonly tls?: boolean
  /** Settings of the stanza `understudy`. */
  readonly settings?: LabSettings
  readonly ports?: PortPair
  /** How others reach the cluster: `direct` unless said otherwise; `cluster-port` leaves its API out. */
  readonly reach?: 'direct' | 'load-balancer' | 'cluster-port'
  readonly seed?: Seed
}

/**
 * Clusters and who follows whom, as a topology file says it.
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
  /** In the order in which they are made: a performance link before the DR link of the same secondary. */
  readonly links: readonly Link[]
  /** The plans of clusters that are not as all are. */
  readonly plans?: Readonly<Record<string, ClusterPlan>>
}

export const planOf = ({ plans = {} }: Topology, cluster: string): ClusterPlan => plans[cluster] ?? {}

/** Where several nodes of a cluster have their data. */
export const NODE_STORAGES = ['etcd', 'raft'] as const

/**
 * Where several nodes of a cluster have their data: in one etcd that the lab runs beside them (`etcd`, the default), or with
 * each of them, which join the first one by `retry_join` and need a quorum (`raft`). For labs of processes.
 *
 * @example
 * import { type NodeStorage, type Topology } from 'understudy-lab'
 *
 * const storage: NodeStorage = 'raft'
 * const plans = { A: { nodes: 3, storage } } as const
 * const topology: Topology = { name: 'one', about: 'three members', clusters: ['A'], links: [], plans }
 */
export type NodeStorage = (typeof NODE_STORAGES)[number]

/** Throws LabError `usage` where nodes are to have their data with each of them: nodes in one process share memory. */
export const requireSharedMemory = (topology: Topology): void => {
  const apart = topology.clusters.find((name) => hasPeers(topology, name))
  if (apart !== undefined)
    throw new LabError('usage', `the nodes of cluster ${apart} have storage "raft", which they need processes for`)
}

/** Whether a cluster has several nodes of which each has the data. */
export const hasPeers = (topology: Topology, cluster: string): boolean =>
  serversOf(topology, cluster).length > 1 && planOf(topology, cluster).storage === 'raft'

/** How many servers a cluster may have. */
export const NODE_COUNTS = [1, 3, 5] as const

/**
 * How many servers a cluster may have.
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

/** Throws LabError `usage` where a cluster has several servers. `what` does not have them. */
export const requireSingle = (topology: Topology, what: string): void => {
  const several = topology.clusters.find((name) => serversOf(topology, name).length > 1)
  if (several !== undefined)
    throw new LabError('usage', `cluster ${several} has several nodes, and ${what} has one of each`)
}

/** The same topology with so many servers in every cluster. Throws LabError `usage` where a cluster has the name of a node then. */
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

/** Clusters that have the name of a node of another one. */
export const findNameClashes = (
  clusters: readonly string[],
  nodesOf: (cluster: string) => number,
): readonly { readonly cluster: string; readonly text: string }[] =>
  clusters.flatMap((name) =>
    nodeNamesOf(name, nodesOf(name))
      .filter((node) => node !== name && clusters.includes(node))
      .map((node) => ({ cluster: node, text: `cluster ${node} has the name of a node of cluster ${name}` })),
  )

/** The servers of all clusters, by name. */
export const allServersOf = (topology: Topology): readonly string[] =>
  topology.clusters.flatMap((name) => serversOf(topology, name))

/** The servers of a cluster by name: the cluster's own where it is a single one, else `A1`, `A2` and so on. */
export const serversOf = (topology: Topology, cluster: string): readonly string[] =>
  nodeNamesOf(cluster, planOf(topology, cluster).nodes ?? 1)

const nodeNamesOf = (cluster: string, nodes: number): readonly string[] =>
  nodes === 1 ? [cluster] : Array.from({ length: nodes }, (_, index) => `${cluster}${index + 1}`)
