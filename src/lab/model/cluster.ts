import { readNamedText } from '../../base/named-file.js'
import { ApiClient } from '../../client/api-client.js'
import type { Exchange } from '../../client/exchange.js'
import type { Route } from './routes.js'
import type { ProcessIdentity } from './process-identity.js'
import type { PortPair } from './ports.js'
import type { Topology } from './topology.js'

/**
 * The keys of a cluster.
 *
 * @example
 * import { type ClusterKeys, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('single', { shares: 5, threshold: 3 })
 * const { unsealKeys, threshold, rootToken }: ClusterKeys = lab.A
 * console.log(unsealKeys.slice(0, threshold), rootToken)
 */
export interface ClusterKeys {
  /** Empty where no token works, as on a DR secondary. */
  readonly rootToken: string
  /** Key shares in hex: those of the cluster itself or, after it joined, of its primary. */
  readonly unsealKeys: readonly string[]
  /** How many shares unseal the cluster. */
  readonly threshold: number
}

/** Address and keys of a cluster, wherever it runs. */
export interface ClusterAccess extends ClusterKeys {
  readonly name: string
  readonly apiAddress: string
  /** The APIs of all its servers, where they are several. */
  readonly nodeAddresses?: readonly string[] | undefined
  /** The certificate authority of its address, where that is no public one. */
  readonly caFile?: string | undefined
  /** What carries requests to it, where no socket leads there. */
  readonly exchange?: Exchange | undefined
  /** Token for the endpoints of labs, where not only this machine reaches them. */
  readonly labApiToken?: string | undefined
}

/** A server that runs as a process of this machine. */
export interface ServerRecord {
  /** Of its cluster, or `A2` where it is one of several nodes. */
  readonly name: string
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly ports: PortPair
  /** Of its own etcd for those of the other nodes, where each has the data. */
  readonly etcdPort?: number | undefined
  readonly dataDir: string
  readonly logFile: string
  /** Its name holds a random word, by which the process is known as this cluster's server. */
  readonly configFile: string
  /** The process as it was started last; null before the first start. */
  readonly process: ProcessIdentity | null
  /** In a lab that was loaded at other ports than it was saved at. */
  readonly formerly?: Formerly | undefined
}

/**
 * A cluster whose servers are processes of this machine; part of `lab.json`, readable by its owner alone. Its own addresses and
 * files are those of its single server, or of the first of several.
 */
export interface ClusterRecord extends ClusterAccess, ServerRecord {
  /** Its servers, where they are several. */
  readonly nodes?: readonly ServerRecord[] | undefined
  /** Where others reach it, when that is not at its own ports: `host:port` of API and cluster port. */
  readonly balancer?: PortPair | undefined
  /** The key that it unseals itself with. */
  readonly sealKeyFile?: string | undefined
}

/** `host:port` of a server that was moved, under which others know it still. */
export interface Formerly {
  readonly api: readonly string[]
  readonly cluster: readonly string[]
  /** Addresses that nobody was to reach. */
  readonly hidden: readonly string[]
}

/** Clusters that stand in a topology; `topology` is its name. */
export interface WiredClusters {
  readonly topology: string
  /** The topology as it was when the clusters were joined: its file may have changed since. */
  readonly plan?: Topology | undefined
  readonly clusters: readonly ClusterAccess[]
  /** Links that were made, as `linkName` has them; all of the topology where nothing is said. Roles may have moved since. */
  readonly joined?: readonly string[] | undefined
}

/** Clusters that belong together, wherever they run. */
export interface LabAccess {
  readonly name: string
  readonly clusters: readonly ClusterAccess[]
}

/** An etcd of one member that belongs to a lab. */
export interface OwnEtcdPlan {
  /** The file of the program. */
  readonly program: string
  /** The program that ends it when the lab daemon ends in whatever way; none where the system has no such. */
  readonly binder?: string | undefined
  readonly dataDir: string
  readonly logFile: string
  /** For clients and for peers, of 127.0.0.1. */
  readonly ports: readonly [number, number]
}

/** The background process of a lab, which holds its links; see `keeper/`. */
export interface KeeperRecord {
  readonly configFile: string
  readonly logFile: string
  /** Where its control listens. */
  readonly socket: string
  readonly routes: readonly Route[]
  readonly process: ProcessIdentity | null
  /** Where toxiproxy's control listens; absent or null: nowhere. */
  readonly toxiproxyPort?: number | null
}

/** `starting` until everything is replicated; `failed` when that went wrong and only logs are left. */
type LabState = 'starting' | 'running' | 'failed'

/** A lab whose servers are processes that were started by it. */
export interface LabRecord extends WiredClusters {
  readonly apiVersion: 'understudy/v1'
  readonly name: string
  readonly state: LabState
  /** ISO 8601. */
  readonly createdAt: string
  /** The process that started it. */
  readonly owner: ProcessIdentity
  /** Set while an image is loaded: should that be interrupted, clusters are of different moments. */
  readonly isLoading?: boolean | undefined
  /** Where the lab is remembered, and its logs. */
  readonly directory: string
  /** Where the data of all clusters lies: the same directory unless somebody chose another. */
  readonly dataRoot: string
  readonly keeper: KeeperRecord
  /** The etcd that the nodes of its clusters share, which the lab daemon runs. */
  readonly etcd?: OwnEtcdPlan | undefined
  /** The servers share the process of the lab daemon. `process` of a cluster is that one, or null while its server is stopped. */
  readonly isInProcess?: boolean | undefined
  readonly clusters: readonly ClusterRecord[]
}

/** The servers of a cluster, of which there may be one. */
export const serversIn = <S>(cluster: S & { readonly nodes?: readonly S[] | undefined }): readonly S[] =>
  cluster.nodes ?? [cluster]

export const serversOfLab = ({ clusters }: Pick<LabRecord, 'clusters'>): readonly ServerRecord[] =>
  clusters.flatMap(serversIn)

/** On which a server listens, and its own etcd. */
export const portsOf = ({ ports, etcdPort }: Pick<ServerRecord, 'ports' | 'etcdPort'>): number[] => [
  ports.api,
  ports.cluster,
  ...(etcdPort === undefined ? [] : [etcdPort]),
]

/** The lab with the process that a server runs in now. */
export const withProcess = (lab: LabRecord, server: string, process: ServerRecord['process']): LabRecord => {
  const change = <T extends ServerRecord>(one: T): T => (one.name === server ? { ...one, process } : one)
  const clusters = lab.clusters.map((cluster) =>
    change(cluster.nodes ? { ...cluster, nodes: cluster.nodes.map(change) } : cluster),
  )
  return { ...lab, clusters }
}

/** Whether it is the name of one of several servers of a cluster. */
export const isNode = (name: string): boolean => /\d$/.test(name)

/** `cluster A`, or `node A2` by the name of one of several. */
export const describeServer = (name: string): string => `${isNode(name) ? 'node' : 'cluster'} ${name}`

/** A server that somebody else runs. */
export interface AttachedServer extends Pick<ClusterAccess, 'name' | 'apiAddress'> {
  /** Its container on this machine, by which it can be stopped and started; none where it runs elsewhere. */
  readonly container?: string | undefined
}

/** A cluster that somebody else runs. Its own address and container are those of its single server, or of the first of several. */
export interface AttachedCluster extends ClusterAccess, AttachedServer {
  /** Its servers, where they are several. */
  readonly nodes?: readonly AttachedServer[] | undefined
}

/** A lab of servers that somebody else runs: it knows where they are and how to open them, and starts and ends none of them. */
export interface AttachedLab extends WiredClusters {
  readonly apiVersion: 'understudy/v1'
  readonly name: string
  readonly state: 'attached'
  /** ISO 8601. */
  readonly createdAt: string
  readonly directory: string
  readonly clusters: readonly AttachedCluster[]
}

export type AnyLab = LabRecord | AttachedLab

/** The lab with these keys of a cluster; those that are left out stay. */
export const withClusterKeys = (lab: AnyLab, name: string, keys: Partial<ClusterKeys>): AnyLab => {
  const set = <T extends ClusterAccess>(cluster: T): T => (cluster.name === name ? { ...cluster, ...keys } : cluster)
  return isAttached(lab) ? { ...lab, clusters: lab.clusters.map(set) } : { ...lab, clusters: lab.clusters.map(set) }
}

export const isAttached = (lab: AnyLab): lab is AttachedLab => lab.state === 'attached'

/** With a client that is closed when the work is done, however it ends. `timeoutMs`: of each request. */
export const withClient = async <T>(
  cluster: Parameters<typeof clientOf>[0],
  work: (client: ApiClient) => Promise<T>,
  timeoutMs?: number,
): Promise<T> => {
  const client = clientOf(cluster, timeoutMs)
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

/** The same without a token, of which status reads need none. */
export const withAnonymousClient = <T>(
  cluster: Parameters<typeof clientOf>[0],
  work: (client: ApiClient) => Promise<T>,
  timeoutMs?: number,
): Promise<T> => withClient({ ...cluster, rootToken: '' }, work, timeoutMs)

/** Maximum time of a call by default. A demotion drains for `demote_drain_timeout`, 10 s by default, before it answers. */
const CALL_MS = 30_000

export const clientOf = (
  cluster: Pick<ClusterAccess, 'apiAddress' | 'rootToken' | 'caFile' | 'labApiToken' | 'exchange'>,
  timeoutMs = CALL_MS,
): ApiClient =>
  new ApiClient({
    address: cluster.apiAddress,
    ...(cluster.caFile === undefined ? {} : { caPem: readNamedText(cluster.caFile) }),
    token: cluster.rootToken === '' ? undefined : cluster.rootToken,
    labApiToken: cluster.labApiToken,
    exchange: cluster.exchange,
    timeoutMs,
  })
