import path from 'node:path'
import { createSystemRandom, type Random } from '../../base/random.js'
import { labTlsFiles } from '../../server/dev/dev.js'
import {
  type ClusterRecord,
  describeServer,
  type LabRecord,
  type ServerRecord,
  serversIn,
  serversOfLab,
} from '../model/cluster.js'
import type { LabEtcdPlan } from '../model/daemon-record.js'
import { nodeOf, planRoutes, type Reach, reachOf, routeCount } from '../model/routes.js'
import { findEtcd } from '../daemon/lab-etcd.js'
import { LabError } from '../model/lab-error.js'
import { isFree, type PortPair, randomSinglePorts } from '../model/ports.js'
import type { LabSettings } from '../model/settings.js'
import { settingsOf } from '../runner/server-plan.js'
import { allServersOf, hasPeers, planOf, requireSharedMemory, serversOf, type Topology } from '../model/topology.js'
import { formerPortsOf, type ImagedServer, imagedServers, type LabImage } from '../snapshot/manifest.js'
import { planLabDaemon } from '../processes/launch.js'
import { labDirectory } from '../model/lab-directory.js'
import type { LabHost } from '../processes/lab-host.js'

export interface LabPlan {
  readonly name: string
  readonly topology: Topology
  readonly settings: LabSettings
  readonly logLevel?: string | undefined
  /** The directory in which the data directory of this lab is created. Default: the directory of the lab. */
  readonly dataDir?: string | undefined
  /** The address on which the APIs listen. Default: 127.0.0.1. */
  readonly apiHost?: string | undefined
  /** Whether all servers run in the process of the lab daemon. */
  readonly isInProcess?: boolean | undefined
  /** Makes keys, tokens and faults reproducible. Only with `isInProcess`. */
  readonly seed?: string | undefined
  /** The image to restore. Without one, the lab starts empty. */
  readonly image?: LabImage | undefined
}

const LOOPBACK = '127.0.0.1'
const RANDOM_WORD_BYTES = 12

/** Chooses all paths and ports of a lab. Creates nothing. */
export const planLab = async (
  { name, topology, settings, dataDir, apiHost = LOOPBACK, image, isInProcess, seed }: LabPlan,
  ports: ReadonlyMap<string, PortPair>,
  host: LabHost,
): Promise<LabRecord> => {
  const directory = labDirectory(name)
  const random = createSystemRandom()
  const dataRoot = dataDir ? path.join(path.resolve(dataDir), `understudy-${name}-${randomWord(random)}`) : directory
  const free = await choosePorts(topology, ports, image)
  const inputs: PlanInputs = {
    directory,
    dataRoot,
    random,
    topology,
    free,
    imaged: imagedServers(image?.manifest.clusters ?? []),
  }
  const clusters: ClusterRecord[] = []
  if (isInProcess) requireSharedMemory(topology)
  const etcd = isInProcess ? undefined : planEtcd(inputs)
  for (const cluster of topology.clusters) {
    const given = { ...settings, ...settingsOf(topology, cluster) }.lab_api_token
    const labApiToken = given === undefined && apiHost !== LOOPBACK ? randomWord(random) : given
    const planned = planCluster(cluster, ports, inputs)
    clusters.push(labApiToken === undefined ? planned : { ...planned, labApiToken: String(labApiToken) })
  }
  const routes = planRoutes(reachesOf(clusters, topology), free, topology)
  refuseFormerPorts(serversOfLab({ clusters }))
  return {
    apiVersion: 'understudy/v1',
    name,
    topology: topology.name,
    plan: topology,
    state: 'starting',
    createdAt: new Date(host.clock.now()).toISOString(),
    owner: host.me,
    directory,
    dataRoot,
    ...(etcd ? { etcd } : {}),
    keeper: planLabDaemon(directory, randomWord(random), routes),
    ...(isInProcess ? { isInProcess } : {}),
    ...(seed === undefined ? {} : { seed }),
    clusters,
  }
}

/**
 * Chooses the ports of proxies, load balancers and etcd. Excludes `ports`, the ports of the servers, which are not in
 * use yet, and the ports in an image, to which servers still connect.
 */
const choosePorts = async (
  topology: Topology,
  ports: ReadonlyMap<string, PortPair>,
  image: LabImage | undefined,
): Promise<number[]> => {
  const { clusters } = topology
  const servers = allServersOf(topology).length
  const balancers = clusters.filter((name) => planOf(topology, name).reach === 'load-balancer').length
  const given = [...ports.values()].flatMap(({ api, cluster }) => [api, cluster])
  const reserved = new Set([...given, ...(image ? formerPortsOf(imagedServers(image.manifest.clusters)) : [])])
  return [...(await randomSinglePorts(routeCount(servers) + 2 * balancers + ETCD_PORTS + servers, reserved))]
}

/** Number of ports of the etcd of a lab: client and peer port. */
const ETCD_PORTS = 2

/** Returns a port of a stopped lab that another process uses. Undefined if there is none. */
export const findPortInUse = async ({ clusters, keeper, etcd }: LabRecord): Promise<number | undefined> => {
  const servers = serversOfLab({ clusters }).flatMap(({ ports, etcdPort }) => [ports.api, ports.cluster, etcdPort])
  for (const port of [...servers, ...(etcd?.ports ?? []), ...keeper.routes.map((route) => route.port)])
    if (port !== undefined && !(await isFree(port))) return port
  return undefined
}

/**
 * Plans the etcd that nodes share. Undefined if no nodes share one. Throws LabError `usage` if nodes need the program
 * etcd, but this machine does not have it.
 */
const planEtcd = ({ directory, dataRoot, free, topology }: PlanInputs): LabEtcdPlan | undefined => {
  const several = topology.clusters.filter((name) => serversOf(topology, name).length > 1)
  if (several.length === 0) return undefined
  const program = findEtcd(process.env.PATH ?? '')
  if (several.every((name) => hasPeers(topology, name))) return undefined
  const [client = 0, peer = 0] = free.splice(0, ETCD_PORTS)
  return {
    program,
    dataDir: path.join(dataRoot, 'etcd'),
    logFile: path.join(directory, 'etcd.log'),
    ports: [client, peer],
  }
}

/**
 * Throws LabError `conflict` if a server of a snapshot has a port that another server had, to which others still
 * connect.
 */
const refuseFormerPorts = (servers: readonly ServerRecord[]): void => {
  for (const { name, ports } of servers) {
    for (const port of [ports.api, ports.cluster]) {
      const other = servers.find((one) => one.name !== name && hasFormerAddress(one, hostOf(port)))
      if (!other) continue
      const text = `port ${port} cannot be reused: in the snapshot, it is the port of ${describeServer(other.name)}, and other servers still connect to it there`
      throw new LabError('conflict', `${text}: choose another --port-base, or --ports random`)
    }
  }
}

const hasFormerAddress = ({ formerly }: ServerRecord, address: string): boolean =>
  Object.values(formerly ?? {}).some((addresses) => addresses.includes(address))

interface PlanInputs {
  readonly directory: string
  readonly dataRoot: string
  readonly random: Random
  readonly topology: Topology
  /** Free ports. Planning removes each port that it uses. */
  readonly free: number[]
  readonly imaged: readonly ImagedServer[]
}

const planCluster = (name: string, ports: ReadonlyMap<string, PortPair>, inputs: PlanInputs): ClusterRecord => {
  const { directory, dataRoot, random, topology, free, imaged } = inputs
  const { tls, seal, reach } = planOf(topology, name)
  const [api = 0, cluster = 0] = reach === 'load-balancer' ? free.splice(0, 2) : []
  const balancer = reach === 'load-balancer' ? { api, cluster } : undefined
  const servers = serversOf(topology, name).map((server): ServerRecord => {
    const pair = ports.get(server)
    if (!pair) throw new LabError('usage', `no ports were chosen for ${server}`)
    const formerly = imaged.find((one) => one.name === server)?.formerly
    return {
      name: server,
      apiAddress: `${tls ? 'https' : 'http'}://${hostOf(pair.api)}`,
      clusterAddress: `https://${hostOf(balancer?.cluster ?? pair.cluster)}`,
      ports: pair,
      ...(hasPeers(topology, name) ? { etcdPort: free.shift() } : {}),
      dataDir: path.join(dataRoot, server, 'data'),
      logFile: path.join(directory, server, 'server.log'),
      configFile: path.join(directory, server, `server-${randomWord(random)}.json`),
      process: null,
      ...(formerly ? { formerly } : {}),
    }
  })
  const [first] = servers
  if (!first) throw new LabError('usage', `cluster ${name} has no servers`)
  return {
    ...first,
    name,
    ...(servers.length > 1 ? { nodes: servers } : {}),
    rootToken: '',
    unsealKeys: [],
    threshold: 0,
    ...(tls ? { caFile: labTlsFiles(tlsDirectory(directory)).caFile } : {}),
    ...(seal?.type === 'auto' ? { sealKeyFile: path.join(directory, name, 'seal.key') } : {}),
    ...(balancer ? { balancer } : {}),
  }
}

const randomWord = (random: Random): string => random.bytes(RANDOM_WORD_BYTES).toString('hex')

export const tlsDirectory = (directory: string): string => path.join(directory, 'tls')

/** Returns how the servers of these clusters can be reached, by server name. */
export const reachesOf = (clusters: readonly ClusterRecord[], topology: Topology): Map<string, Reach> =>
  new Map(
    clusters.flatMap((cluster) =>
      serversIn(cluster).map(({ name, ports }): [string, Reach] => [
        name,
        { ...reachOf(planOf(topology, cluster.name), ports, cluster.balancer), ...nodeOf(cluster.name, name) },
      ]),
    ),
  )

export const hostOf = (port: number): string => `${LOOPBACK}:${port}`
