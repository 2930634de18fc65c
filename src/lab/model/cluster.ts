import { readNamedText } from '../../base/named-file.js'
import { ApiClient } from '../../client/api-client.js'
import type { Exchange } from '../../client/exchange.js'
import { LabError } from './lab-error.js'
import type { LabDaemonAccess, LabDaemonRecord, LabEtcdPlan } from './daemon-record.js'
import type { ProcessIdentity } from './process-table.js'
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
  /** Empty if no token is valid, as on a DR secondary. */
  readonly rootToken: string
  /** Key shares in hex: those of the cluster itself or, after a join, of its primary. */
  readonly unsealKeys: readonly string[]
  /** Number of key shares that unseal the cluster. */
  readonly threshold: number
}

/** Address and keys of a cluster, wherever it runs. */
export interface ClusterAccess extends ClusterKeys {
  readonly name: string
  readonly apiAddress: string
  /** The API addresses of all its servers, if there are several. */
  readonly nodeAddresses?: readonly string[] | undefined
  /** For written runbooks: namespace (empty: root), environment variable of the token, and cluster address. */
  readonly written?: Readonly<Record<'namespace' | 'tokenVariable' | 'clusterAddress', string>> | undefined
  /** The CA file that verifies its API. Absent without TLS, or if a public CA signed its certificate. */
  readonly caFile?: string | undefined
  /** The transport for requests to a cluster that has no sockets, such as a simulated cluster. */
  readonly exchange?: Exchange | undefined
  /** Token for the lab endpoints, if they are reachable from other machines. */
  readonly labApiToken?: string | undefined
}

/** A server that runs as a local process. */
export interface ServerRecord {
  /** The name of the cluster, or in a multi-node cluster the name of the node, such as `A2`. */
  readonly name: string
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly ports: PortPair
  /** Peer port of the etcd of this node. Present only with storage "raft". */
  readonly etcdPort?: number | undefined
  readonly dataDir: string
  readonly logFile: string
  /** The random word in its name identifies the process that runs this server. */
  readonly configFile: string
  /** The most recent process. Null before the first start and after a stop, but not after a crash. */
  readonly process: ProcessIdentity | null
  /** Set if a snapshot of the lab was loaded on other ports. */
  readonly formerly?: Formerly | undefined
}

/**
 * A cluster whose servers are local processes. Part of `lab.json`, which only its owner can read. The addresses and
 * files are those of the single server, or of the first node.
 */
export interface ClusterRecord extends ClusterAccess, ServerRecord {
  /** Its servers, if there are several. */
  readonly nodes?: readonly ServerRecord[] | undefined
  /** Ports of the load balancer through which other clusters reach the cluster, if there is one. */
  readonly balancer?: PortPair | undefined
  /** The auto-unseal key file. */
  readonly sealKeyFile?: string | undefined
}

/** Former addresses (`host:port`) of a moved server. Other servers may still use them. */
export interface Formerly {
  readonly api: readonly string[]
  readonly cluster: readonly string[]
  /** Addresses that no other server could reach. */
  readonly hidden: readonly string[]
}

/** The clusters of a topology. */
export interface WiredClusters {
  /** The name of the topology. */
  readonly topology: string
  /** The topology from which the clusters were joined. Its file may have changed since. */
  readonly plan?: Topology | undefined
  readonly clusters: readonly ClusterAccess[]
  /** The names of completed links (`linkName`). Default: all links of the topology. Roles may have changed since. */
  readonly joined?: readonly string[] | undefined
}

/** The clusters of a lab, wherever they run. */
export interface LabAccess {
  readonly name: string
  readonly clusters: readonly ClusterAccess[]
}

/** Returns a cluster of the lab. Throws LabError `usage` with the existing names if there is none. */
export const requireCluster = ({ name: lab, clusters }: LabAccess, name: string): ClusterAccess => {
  const found = clusters.find((cluster) => cluster.name === name)
  if (found) return found
  const names = clusters.map((cluster) => cluster.name).join(', ')
  throw new LabError('usage', `the lab "${lab}" has no cluster "${name}"; it has ${names}`)
}

/** `starting` until all secondaries are replicated. `failed` if the start failed and only logs are left. */
type LabState = 'starting' | 'running' | 'failed'

/** A lab that started its servers, either as separate processes or in the process of its lab daemon. */
export interface LabRecord extends WiredClusters {
  readonly apiVersion: 'understudy/v1'
  readonly name: string
  readonly state: LabState
  /** ISO 8601. */
  readonly createdAt: string
  /** The process that started the lab. */
  readonly owner: ProcessIdentity
  /** Set while an image is loaded: after an interruption, the data of the clusters is inconsistent. */
  readonly isLoading?: boolean | undefined
  /** The directory of the lab's record and logs. */
  readonly directory: string
  /** The parent directory of all data. Default: the directory of the lab. */
  readonly dataRoot: string
  /** The lab daemon, under its name in stored records. */
  readonly keeper: LabDaemonRecord
  /** The etcd that the nodes of its clusters share. The lab daemon runs it. */
  readonly etcd?: LabEtcdPlan | undefined
  /** Whether the servers share the process of the lab daemon, which is then the `process` of each running server. */
  readonly isInProcess?: boolean | undefined
  /** The seed of the keys, tokens and faults of an in-process lab. */
  readonly seed?: string | undefined
  readonly clusters: readonly ClusterRecord[]
}

/** Returns all servers of a cluster, or its single server. */
export const serversIn = <S>(cluster: S & { readonly nodes?: readonly S[] | undefined }): readonly S[] =>
  cluster.nodes ?? [cluster]

export const serversOfLab = ({ clusters }: Pick<LabRecord, 'clusters'>): readonly ServerRecord[] =>
  clusters.flatMap(serversIn)

/** Returns the record of the lab with a new process of one server, which is null if the server is stopped. */
export const withProcess = (lab: LabRecord, server: string, process: ServerRecord['process']): LabRecord => {
  const change = <T extends ServerRecord>(each: T): T => (each.name === server ? { ...each, process } : each)
  const clusters = lab.clusters.map((cluster) =>
    change(cluster.nodes ? { ...cluster, nodes: cluster.nodes.map(change) } : cluster),
  )
  return { ...lab, clusters }
}

/** Whether this is the name of a node in a multi-node cluster. */
export const isNode = (name: string): boolean => /\d$/.test(name)

/** Returns `cluster A`, or `node A2` for the name of a node. */
export const describeServer = (name: string): string => `${isNode(name) ? 'node' : 'cluster'} ${name}`

/** An externally managed server. */
export interface AttachedServer extends Pick<ClusterAccess, 'name' | 'apiAddress'> {
  /** The name of its container on this machine. Without a container, the lab cannot start and stop the server. */
  readonly container?: string | undefined
}

/** An externally managed cluster. The address and container are those of the single server, or of the first node. */
export interface AttachedCluster extends ClusterAccess, AttachedServer {
  /** Its servers, if there are several. */
  readonly nodes?: readonly AttachedServer[] | undefined
}

/** A lab of externally managed servers: their addresses and keys. It can start and stop only local containers. */
export interface AttachedLab extends WiredClusters {
  readonly apiVersion: 'understudy/v1'
  readonly name: string
  readonly state: 'attached'
  /** ISO 8601. */
  readonly createdAt: string
  readonly directory: string
  readonly clusters: readonly AttachedCluster[]
  /** The lab daemon of its containers, if the links between its clusters go through one. */
  readonly keeper?: LabDaemonAccess | undefined
}

export type AnyLab = LabRecord | AttachedLab

/** A lab whose links go through a lab daemon, which also records its events. */
export type DaemonLab = AnyLab & { readonly keeper: LabDaemonAccess }

export const hasDaemon = (lab: AnyLab): lab is DaemonLab => lab.keeper !== undefined

/** Returns the lab with new keys or addresses of a cluster. Absent fields do not change. */
export const withClusterKeys = (
  lab: AnyLab,
  name: string,
  keys: Partial<ClusterKeys & Pick<ServerRecord, 'apiAddress' | 'clusterAddress'>>,
): AnyLab => {
  const set = <T extends ClusterAccess>(cluster: T): T => (cluster.name === name ? { ...cluster, ...keys } : cluster)
  return isAttached(lab) ? { ...lab, clusters: lab.clusters.map(set) } : { ...lab, clusters: lab.clusters.map(set) }
}

export const isAttached = (lab: AnyLab): lab is AttachedLab => lab.state === 'attached'

/** Runs work with a client of a cluster, and closes the client afterwards. `timeoutMs`: timeout of each request. */
export const withClient = async <T>(
  cluster: ClientAccess,
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

/**
 * Runs work with a client without a token, which is sufficient for status requests. Servers do not count the requests
 * of this client.
 */
export const withAnonymousClient = <T>(
  cluster: ClientAccess,
  work: (client: ApiClient) => Promise<T>,
  timeoutMs?: number,
): Promise<T> => withClient(anonymous(cluster), work, timeoutMs)

/** Returns the cluster without its root token, marked as accessed by an observer. */
export const anonymous = <C extends ClientAccess>(cluster: C): C => ({ ...cluster, rootToken: '', isObserver: true })

/** Default timeout of a request. A demotion responds after up to `demote_drain_timeout`, 10 s by default. */
const CALL_MS = 30_000

export type ClientAccess = Pick<ClusterAccess, 'apiAddress' | 'rootToken' | 'caFile' | 'labApiToken' | 'exchange'> & {
  readonly isObserver?: boolean
}

/** Returns a client of a cluster. The caller must close the client. `isObserver`: servers do not count its requests. */
export const clientOf = (cluster: ClientAccess, timeoutMs = CALL_MS, Client = ApiClient): ApiClient =>
  new Client({
    address: cluster.apiAddress,
    ...(cluster.caFile === undefined ? {} : { caPem: readNamedText(cluster.caFile) }),
    token: cluster.rootToken === '' ? undefined : cluster.rootToken,
    labApiToken: cluster.labApiToken,
    exchange: cluster.exchange,
    isObserver: cluster.isObserver,
    timeoutMs,
  })
