import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import { createSystemRandom, type Random } from '../../base/random.js'
import { labTlsFiles, makeLabTls } from '../../server/lab/lab-tls.js'
import type { ClusterRecord, LabRecord } from '../cluster.js'
import { dialRoutesOf, hiddenRoutesOf, NOWHERE, planRoutes, type Reach, reachOf, routeCount } from '../keeper/routes.js'
import { LabError } from '../lab-error.js'
import { type PortPair, randomSinglePorts } from '../ports.js'
import { writeServerConfig } from '../runner/child-process.js'
import { newSealKey } from '../seal-key.js'
import type { LabSettings } from '../settings.js'
import { planOf, requireSingle, type Topology } from '../topology.js'
import type { ImagedCluster, Manifest } from '../snapshot/manifest.js'
import { planKeeper } from './keeper-process.js'
import { labDirectory, makeDirectories } from './lab-directory.js'
import type { LabHost } from './lab-host.js'

/** The wishes that a lab is planned from. */
export interface LabPlan {
  readonly name: string
  readonly topology: Topology
  readonly settings: LabSettings
  readonly logLevel?: string | undefined
  readonly dataDir?: string | undefined
  /** The address that the APIs listen on; 127.0.0.1 unless said otherwise. */
  readonly apiHost?: string | undefined
  /** All servers in the process of the keeper. */
  readonly isInProcess?: boolean | undefined
  /** The image that it goes on from; without one it begins empty. */
  readonly image?: { readonly directory: string; readonly manifest: Manifest } | undefined
}

const LOOPBACK = '127.0.0.1'
const RANDOM_WORD_BYTES = 12

/** Where everything of a lab will lie and listen; nothing is made yet. */
export const planLab = async (
  { name, topology, settings, dataDir, apiHost = LOOPBACK, image, isInProcess }: LabPlan,
  ports: ReadonlyMap<string, PortPair>,
  host: LabHost,
): Promise<LabRecord> => {
  requireSingle(topology, 'a lab of processes')
  const directory = labDirectory(name)
  const random = createSystemRandom()
  const dataRoot = dataDir ? path.join(path.resolve(dataDir), `understudy-${name}-${randomWord(random)}`) : directory
  const free = await choosePorts(topology, ports, random)
  const places: Places = { directory, dataRoot, random, topology, free, imaged: image?.manifest.clusters ?? [] }
  const clusters: ClusterRecord[] = []
  for (const cluster of topology.clusters) {
    const pair = ports.get(cluster)
    if (!pair) throw new LabError('usage', `no ports were chosen for cluster ${cluster}`)
    const given = { ...settings, ...settingsOf(topology, cluster) }.lab_api_token
    const labApiToken = given === undefined && apiHost !== LOOPBACK ? randomWord(random) : given
    const planned = planCluster(cluster, pair, places)
    clusters.push(labApiToken === undefined ? planned : { ...planned, labApiToken: String(labApiToken) })
  }
  const routes = planRoutes(reachesOf(clusters, topology), free, topology)
  refuseConfusion(clusters)
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
    keeper: planKeeper(directory, randomWord(random), routes),
    ...(isInProcess ? { isInProcess } : {}),
    clusters,
  }
}

/**
 * Ports of proxies and balancers, chosen all at once, and none that a server of the lab is to have: nobody listens on those
 * yet, and they look free.
 */
const choosePorts = async (
  topology: Topology,
  ports: ReadonlyMap<string, PortPair>,
  random: Random,
): Promise<number[]> => {
  const { clusters } = topology
  const balancers = clusters.filter((name) => planOf(topology, name).reach === 'load-balancer').length
  const given = new Set([...ports.values()].flatMap(({ api, cluster }) => [api, cluster]))
  return [...(await randomSinglePorts(routeCount(clusters.length) + 2 * balancers, random, given))]
}

/** An address can lead to one cluster only, and that of a lab that was moved leads to where it went. */
const refuseConfusion = (clusters: readonly ClusterRecord[]): void => {
  for (const { name, ports } of clusters) {
    for (const port of [ports.api, ports.cluster]) {
      const other = clusters.find((one) => one.name !== name && isFormer(one, hostOf(port)))
      if (!other) continue
      const text = `port ${port} was that of cluster ${other.name} when the snapshot was made, and the others know it by that still`
      throw new LabError('conflict', `${text}: choose another --port-base, or --ports random`)
    }
  }
}

const isFormer = ({ formerly }: ClusterRecord, address: string): boolean =>
  Object.values(formerly ?? {}).some((addresses) => addresses.includes(address))

interface Places {
  readonly directory: string
  readonly dataRoot: string
  readonly random: Random
  readonly topology: Topology
  /** Ports that nobody has; what takes one takes it out. */
  readonly free: number[]
  readonly imaged: readonly ImagedCluster[]
}

const planCluster = (
  name: string,
  ports: PortPair,
  { directory, dataRoot, random, topology, free, imaged }: Places,
): ClusterRecord => {
  const { tls, seal, reach } = planOf(topology, name)
  const [api = 0, cluster = 0] = reach === 'load-balancer' ? free.splice(0, 2) : []
  const formerly = imaged.find((one) => one.name === name)?.formerly
  const balancer = reach === 'load-balancer' ? { api, cluster } : undefined
  return {
    name,
    apiAddress: `${tls ? 'https' : 'http'}://127.0.0.1:${ports.api}`,
    clusterAddress: `https://127.0.0.1:${balancer?.cluster ?? ports.cluster}`,
    ports,
    dataDir: path.join(dataRoot, name, 'data'),
    logFile: path.join(directory, name, 'server.log'),
    configFile: path.join(directory, name, `server-${randomWord(random)}.json`),
    process: null,
    rootToken: '',
    unsealKeys: [],
    threshold: 0,
    ...(tls ? { caFile: labTlsFiles(tlsDirectory(directory)).caFile } : {}),
    ...(seal?.type === 'auto' ? { sealKeyFile: path.join(directory, name, 'seal.key') } : {}),
    ...(balancer ? { balancer } : {}),
    ...(formerly ? { formerly } : {}),
  }
}

const tlsDirectory = (directory: string): string => path.join(directory, 'tls')

const randomWord = (random: Random): string => random.bytes(RANDOM_WORD_BYTES).toString('hex')

const reachesOf = (clusters: readonly ClusterRecord[], topology: Topology): Map<string, Reach> =>
  new Map(
    clusters.map(({ name, ports, balancer }): [string, Reach] => [
      name,
      reachOf(planOf(topology, name), ports, balancer),
    ]),
  )

/** Configuration, certificates and seal keys: all that the servers of a lab read. */
export const writeFiles = async (
  lab: LabRecord,
  { topology, settings, logLevel, apiHost, image }: LabPlan,
  host: LabHost,
): Promise<void> => {
  const random = createSystemRandom()
  if (lab.clusters.some(({ caFile }) => caFile)) await makeLabTls(tlsDirectory(lab.directory), host.clock.now())
  const reaches = reachesOf(lab.clusters, topology)
  for (const cluster of lab.clusters) {
    makeDirectories(path.dirname(cluster.configFile))
    makeDirectories(path.dirname(cluster.dataDir))
    const sealKey = image?.manifest.clusters.find((one) => one.name === cluster.name)?.sealKey
    if (cluster.sealKeyFile !== undefined) writeKey(cluster.sealKeyFile, sealKey ?? newSealKey(random).toString('hex'))
    const { name, ports, balancer, sealKeyFile, caFile, labApiToken } = cluster
    writeServerConfig(
      {
        name,
        ports,
        apiHost,
        ...(balancer ? { advertised: hostOf(balancer.cluster), advertisedApi: hostOf(balancer.api) } : {}),
        tls: caFile === undefined ? undefined : labTlsFiles(tlsDirectory(lab.directory)),
        sealKeyFile,
        settings: {
          ...settings,
          ...settingsOf(topology, name),
          ...(labApiToken === undefined ? {} : { lab_api_token: labApiToken }),
        },
        logLevel,
        dialRoutes: [
          ...formerRoutesOf(lab, name),
          ...dialRoutesOf(lab.keeper.routes, name),
          ...hiddenRoutesOf(reaches, name),
        ],
      },
      cluster,
    )
  }
}

/** Routes from the addresses that others had when the lab was saved to those that they have now. */
const formerRoutesOf = (lab: LabRecord, from: string): string[] =>
  lab.clusters.flatMap(({ name, formerly }) => {
    if (name === from || !formerly) return []
    const [api, cluster] = lab.keeper.routes.filter((route) => route.from === from && route.to === name)
    const lead = (addresses: readonly string[], to: string) => addresses.map((address) => `${address}=${to}`)
    return [
      ...lead(formerly.api, hostOf(api?.port ?? 0)),
      ...lead(formerly.cluster, hostOf(cluster?.port ?? 0)),
      ...lead(formerly.hidden, NOWHERE),
    ]
  })

const hostOf = (port: number): string => `${LOOPBACK}:${port}`

const writeKey = (file: string, text: string): void => {
  makeDirectory(path.dirname(file), 0o700)
  writeFileSync(file, text, { mode: 0o600 })
}

const settingsOf = (topology: Topology, cluster: string): LabSettings => {
  const { version, license, settings } = planOf(topology, cluster)
  return {
    ...(version === undefined ? {} : { reported_version: version }),
    ...(license === undefined ? {} : { license }),
    ...settings,
  }
}
