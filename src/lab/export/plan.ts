import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import { messageOf } from '../../base/printable.js'
import { SERVER_PORTS } from '../containers/container-daemon.js'
import { LabError } from '../model/lab-error.js'
import { LAB_SETTINGS, type LabSettings, NODE_SETTINGS, requireSettings } from '../model/settings.js'
import { labTlsFiles } from '../../server/dev/dev.js'
import { planOf, serversOf, type Topology } from '../model/topology.js'
import { settingsOf } from '../runner/server-plan.js'

/** One file of an export, with its path relative to the directory. */
export interface ExportedFile {
  readonly path: string
  readonly text: string
}

export const { api: API_PORT, cluster: CLUSTER_PORT } = SERVER_PORTS
/** Difference between the ports of consecutive clusters, as in a lab of processes. */
const PORT_STEP = 10
/** Difference between the ports of consecutive nodes of a cluster. */
const NODE_STEP = 2
/** Difference between a node's API port on the machine and the peer port of its etcd, for nodes on other machines. */
export const PEER_STEP = 1000

/** A longer lease than in other labs: all nodes of an export write to one disk, which can delay the renewal. */
const NODE_SETTINGS_OF_EXPORT: LabSettings = { ...NODE_SETTINGS, leader_lease: '4s' }

/** A server of an export: the single server of a cluster, or one of its nodes, named `A1` and so on. */
export interface ExportedServer {
  readonly cluster: string
  readonly name: string
  /** The API port on the machine. The cluster port is one higher. */
  readonly port: number
}

/** Returns all servers of a topology, with the ports of the topology file or default ports. */
export const serversOfExport = (topology: Topology): ExportedServer[] =>
  topology.clusters.flatMap((cluster, at) => {
    const first = planOf(topology, cluster).ports?.api ?? API_PORT + PORT_STEP * at
    return serversOf(topology, cluster).map((name, index) => ({ cluster, name, port: first + NODE_STEP * index }))
  })

/** Path of a custom topology file in the wiring container. */
export const TOPOLOGY_IN_CONTAINER = '/vault/config/topology.yaml'

export interface ExportSource {
  readonly topology: Topology
  /** The text of the topology file. Absent for an included topology. */
  readonly fileText?: string | undefined
}

/** Returns the argument with which a program in a container loads the topology. */
export const topologyArgument = ({ topology, fileText }: ExportSource): string =>
  fileText === undefined ? topology.name : TOPOLOGY_IN_CONTAINER

/** Control characters, and all characters that a YAML parser may treat as a line break. */
const BREAKS = /[\p{Cc}\u2028\u2029]+/gu

/** Describes a topology in one line for the head of a file. */
export const headlineOf = ({ name, about }: Topology): string =>
  `The topology ${name}: ${about.replace(BREAKS, ' ').trim() || 'replicated clusters'}.`

/** Describes the parts of a topology that an export omits. `hasLinks`: the export has a lab daemon for the links. */
export const describeLeftOut = (topology: Topology, hasLinks = false): string[] => {
  const reaches = topology.clusters.filter((name) => (planOf(topology, name).reach ?? 'direct') !== 'direct')
  const delayed = hasLinks ? [] : topology.links.filter(({ latencyMs }) => latencyMs !== undefined)
  return [
    ...reaches.map((name) => `${name} is reached directly: the export has no load balancer`),
    ...delayed.map(
      ({ primary, secondary }) => `the link ${primary} ${secondary} has no added latency: the export has no lab daemon`,
    ),
  ]
}

export const hasTls = (topology: Topology, cluster: string): boolean => planOf(topology, cluster).tls === true

export const schemeOf = (topology: Topology, cluster: string): string => (hasTls(topology, cluster) ? 'https' : 'http')

/** The addresses of a server, and the locations of its private files. */
interface ServerLocation {
  /** The name and addresses of the server. Absent if servers share a configuration, and read these from variables. */
  readonly self?: { readonly nodeId: string; readonly api: string; readonly cluster: string } | undefined
  /** The directory with the certificates of a topology that has TLS. */
  readonly tlsDirectory: string
  /** The routes through the lab daemon of the export, if it has one. */
  readonly dialRoutes?: readonly string[] | undefined
  /** The auto-unseal key, if any: `env://` and a variable, or `file://` and a path. */
  readonly sealKey?: string | undefined
  /**
   * In a multi-node cluster: the APIs of all nodes. A node joins through the first API that responds. `etcd`: the
   * address (`host:port`) at which the other nodes reach the node's etcd. Default: one port above the cluster port.
   */
  readonly peers?:
    | { readonly apis: readonly string[]; readonly caFile?: string | undefined; readonly etcd?: string | undefined }
    | undefined
}

/** Returns the configuration of one server in a container, in the format of VAULT_LOCAL_CONFIG. */
export const configText = (
  topology: Topology,
  clusterName: string,
  { self, tlsDirectory, sealKey, peers, dialRoutes }: ServerLocation,
): string => {
  // Validated here, because the configuration contains the names of settings without escaping.
  requireSettings(planOf(topology, clusterName).settings ?? {})
  // Every client that reaches the port could use the fault endpoints, so they are off unless the topology enables them.
  const { lab_api: _, ...common } = LAB_SETTINGS
  const own = {
    ...common,
    ...(peers ? NODE_SETTINGS_OF_EXPORT : {}),
    ...(peers?.etcd === undefined ? {} : { etcd_peer_address: peers.etcd }),
    ...(dialRoutes && { dial_routes: dialRoutes }),
    ...settingsOf(topology, clusterName),
  }
  const { certFile, keyFile } = labTlsFiles(tlsDirectory)
  return [
    `storage "raft" {`,
    `  path    = "/vault/file"`,
    ...(self ? [`  node_id = "${self.nodeId}"`] : []),
    ...(peers?.apis ?? []).flatMap((api) => [
      `  retry_join {`,
      `    leader_api_addr = "${api}"`,
      ...(peers?.caFile === undefined ? [] : [`    leader_ca_cert_file = "${peers.caFile}"`]),
      `  }`,
    ]),
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

/** Writes an export and returns the paths. Throws before the first write if a file exists, unless `isForced`. */
export const writeExport = (directory: string, files: readonly ExportedFile[], isForced: boolean): string[] => {
  const targets = files.map((file) => ({ ...file, target: path.join(directory, file.path) }))
  const existing = targets.filter(({ target }) => existsSync(target)).map(({ target }) => target)
  if (existing.length > 0 && !isForced)
    throw new LabError(
      'conflict',
      `${existing.join(', ')} already ${existing.length > 1 ? 'exist' : 'exists'}: pass --force to replace files`,
    )
  try {
    for (const { target, text } of targets) {
      makeDirectory(path.dirname(target))
      writeFileSync(target, text)
    }
  } catch (error) {
    throw new LabError('usage', `cannot write the export: ${messageOf(error)}`)
  }
  return targets.map(({ target }) => target)
}

/** Returns the machine on which a server runs: `--hosts` can name a machine for the server or for its cluster. */
export const hostOf = (hosts: ReadonlyMap<string, string>, { name, cluster }: ExportedServer): string | undefined =>
  hosts.get(name) ?? hosts.get(cluster)

/** Machine names become directory names, and addresses in the configuration of servers. */
const HOST = /^[A-Za-z0-9][\w.-]*$/

/** Throws LabError `usage` if the export cannot be split over these machines. */
export const requireHosts = ({ topology }: ExportSource, hosts: ReadonlyMap<string, string>): void => {
  const servers = serversOfExport(topology)
  const known = servers.flatMap(({ name, cluster }) => [name, cluster])
  const unknown = [...hosts.keys()].filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw new LabError(
      'usage',
      `the topology ${topology.name} has no cluster ${unknown.join(', ')}; it has ${topology.clusters.join(', ')}`,
    )
  const missing = servers.filter((server) => hostOf(hosts, server) === undefined).map(({ name }) => name)
  if (missing.length > 0)
    throw new LabError('usage', `--hosts has no machine for ${missing.join(', ')}: add the missing entries`)
  const withTls = topology.clusters.filter((name) => hasTls(topology, name))
  if (withTls.length > 0)
    throw new LabError(
      'usage',
      `--hosts does not support TLS, which ${withTls.join(', ')} uses: an export creates its certificates on one machine, and the other machines do not have them`,
    )
  const isSplit = (cluster: string) =>
    new Set(servers.filter((one) => one.cluster === cluster).map((one) => hostOf(hosts, one))).size > 1
  const sealed = topology.clusters.find((name) => isSplit(name) && planOf(topology, name).seal?.type === 'auto')
  if (sealed !== undefined)
    throw new LabError(
      'usage',
      `--hosts cannot put the nodes of ${sealed} on several machines, because they use auto-unseal: an export creates the auto-unseal key on one machine, and the other machines do not have it`,
    )
  for (const host of hosts.values()) {
    if (!HOST.test(host)) throw new LabError('usage', `"${host}" is not the name or IPv4 address of a machine`)
    if (host === 'localhost' || host.startsWith('127.'))
      throw new LabError(
        'usage',
        `${host} refers to a different machine in each container: specify an address that all containers can reach`,
      )
  }
}
