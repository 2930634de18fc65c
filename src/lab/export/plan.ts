import { LAB_SETTINGS, type LabSettings, NODE_SETTINGS, requireSettings } from '../model/settings.js'
import { labTlsFiles } from '../../server/lab/lab-tls.js'
import { planOf, serversOf, type Topology } from '../model/topology.js'

/** One file of an export, by its path below the directory. */
export interface ExportedFile {
  readonly path: string
  readonly text: string
}

export const API_PORT = 8200
export const CLUSTER_PORT = 8201
/** Between the ports of one cluster and those of the next, as in a lab of processes. */
const PORT_STEP = 10

/** Between the ports of one node of a cluster and those of the next. */
const NODE_STEP = 2

/** From the API port of a node on the machine to that of its etcd for those of the others. */
const PEER_STEP = 1000

/** The port on a machine at which a node's etcd is there for those of other machines. */
export const peerPortOf = ({ port }: Pick<ExportedServer, 'port'>): number => port + PEER_STEP

/** The API port on the machine, of the first of several nodes; that of the other clusters' traffic is one above. */
const hostPort = (topology: Topology, cluster: string): number =>
  planOf(topology, cluster).ports?.api ?? API_PORT + PORT_STEP * topology.clusters.indexOf(cluster)

/** Each node of an export has a log of its own to write, all on the disk of one machine, so it is given longer to renew its lease. */
const NODE_SETTINGS_OF_EXPORT: LabSettings = { ...NODE_SETTINGS, leader_lease: '4s' }

/** A server of an export: that of a cluster alone, or one of its nodes, which is called `A1` and so on. */
export interface ExportedServer {
  readonly cluster: string
  readonly name: string
  /** The API port on the machine. */
  readonly port: number
}

export const serversOfExport = (topology: Topology): ExportedServer[] =>
  topology.clusters.flatMap((cluster) =>
    serversOf(topology, cluster).map((name, index) => ({
      cluster,
      name,
      port: hostPort(topology, cluster) + NODE_STEP * index,
    })),
  )

/** Where the file of a topology of one's own is for the container that wires. */
export const TOPOLOGY_IN_CONTAINER = '/vault/config/topology.yaml'

/** A topology and how the program in a container names it: by its name, or by its file. */
export interface ExportSource {
  readonly topology: Topology
  /** The text of its file, unless it ships with the program. */
  readonly fileText?: string | undefined
}

export const topologyArgument = ({ topology, fileText }: ExportSource): string =>
  fileText === undefined ? topology.name : TOPOLOGY_IN_CONTAINER

/** What ends a line for some reader of YAML, and what nobody sees. */
const BREAKS = /[\p{Cc}\u2028\u2029]+/gu

/** What a topology is, as one line for the head of a file. */
export const headlineOf = ({ name, about }: Topology): string =>
  `The topology ${name}: ${about.replace(BREAKS, ' ').trim() || 'clusters that replicate'}.`

/** The parts of a topology that an export leaves out, in words. */
export const describeLeftOut = (topology: Topology): string[] => {
  const reaches = topology.clusters.filter((name) => (planOf(topology, name).reach ?? 'direct') !== 'direct')
  const delayed = topology.links.filter(({ latencyMs }) => latencyMs !== undefined)
  return [
    ...reaches.map((name) => `${name} is reached directly: the export has no load balancer`),
    ...delayed.map(({ primary, secondary }) => `the link ${primary} ${secondary} is as fast as the network is`),
  ]
}

/** Whether the API of a cluster speaks TLS. */
export const hasTls = (topology: Topology, cluster: string): boolean => planOf(topology, cluster).tls === true

/** The URL scheme of the API of a cluster. */
export const schemeOf = (topology: Topology, cluster: string): string => (hasTls(topology, cluster) ? 'https' : 'http')

/** How a server calls itself, and where it is for others. */
interface ServerSelf {
  readonly nodeId: string
  readonly api: string
  readonly cluster: string
}

/** Where a server is for others, and where it finds what it keeps to itself. */
interface ServerPlace {
  /** Without it the server has that in its environment: others have the same configuration. */
  readonly self?: ServerSelf | undefined
  /** The directory with the certificates of a topology that has TLS. */
  readonly tlsDirectory: string
  /** The key it unseals itself with, if it does: `env://` and a variable, or `file://` and a path. */
  readonly sealKey?: string | undefined
  /** Where it is one of several nodes: the APIs of all of them, of which it joins the first that it can. */
  readonly peers?: PeersPlace | undefined
}

interface PeersPlace {
  readonly apis: readonly string[]
  readonly caFile?: string | undefined
  /** Where the others reach its etcd, `host:port`, when that is not one port above its cluster port. */
  readonly etcd?: string | undefined
}

const joinText = (api: string, caFile: string | undefined): string[] => [
  `  retry_join {`,
  `    leader_api_addr = "${api}"`,
  ...(caFile === undefined ? [] : [`    leader_ca_cert_file = "${caFile}"`]),
  `  }`,
]

/** The configuration of one server in a container, as VAULT_LOCAL_CONFIG takes it. */
export const configText = (
  topology: Topology,
  clusterName: string,
  { self, tlsDirectory, sealKey, peers }: ServerPlace,
): string => {
  const { license, version, settings = {} } = planOf(topology, clusterName)
  // Names stand in the text as they are.
  requireSettings(settings)
  // Whoever reaches the port may use what tampers with a server, so it stays off unless the topology asks for it.
  const { lab_api: _, ...common } = LAB_SETTINGS
  const own = {
    ...common,
    ...(peers ? NODE_SETTINGS_OF_EXPORT : {}),
    ...(peers?.etcd === undefined ? {} : { etcd_peer_address: peers.etcd }),
    ...(license === undefined ? {} : { license }),
    ...(version === undefined ? {} : { reported_version: version }),
    ...settings,
  }
  const { certFile, keyFile } = labTlsFiles(tlsDirectory)
  return [
    `storage "raft" {`,
    `  path    = "/vault/file"`,
    ...(self ? [`  node_id = "${self.nodeId}"`] : []),
    ...(peers?.apis ?? []).flatMap((peer) => joinText(peer, peers?.caFile)),
    `}`,
    `listener "tcp" {`,
    `  address         = "0.0.0.0:${API_PORT}"`,
    `  cluster_address = "0.0.0.0:${CLUSTER_PORT}"`,
    ...(hasTls(topology, clusterName)
      ? [`  tls_cert_file   = "${certFile}"`, `  tls_key_file    = "${keyFile}"`]
      : [`  tls_disable     = true`]),
    `}`,
    ...(sealKey === undefined
      ? []
      : [`seal "static" {`, `  current_key_id = "export"`, `  current_key    = "${sealKey}"`, `}`]),
    ...(self ? [`api_addr     = "${self.api}"`, `cluster_addr = "${self.cluster}"`] : []),
    `cluster_name = "${clusterName}"`,
    `understudy {`,
    ...Object.entries(own).map(([key, value]) => `  ${key} = ${JSON.stringify(value)}`),
    `}`,
    '',
  ].join('\n')
}
