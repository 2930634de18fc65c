import path from 'node:path'
import type { Clock } from '../base/clock.js'
import { type ClusterRecord, clientOf, type LabRecord } from './cluster.js'
import { findLab, forgetLab, makeDataDirectory, saveLab } from './lab-files.js'
import { LabError } from './lab-error.js'
import type { PortPair } from './ports.js'
import {
  enablePrimary,
  enableSecondary,
  findLag,
  generateRoot,
  initialise,
  secondaryToken,
  waitForAnswer,
} from './replication.js'
import { isRunning, lastLogLines, startServer, stopServer } from './runner/child-process.js'
import type { Link, Topology } from './topology.js'
import { waitFor } from './wait.js'

export interface UpOptions {
  readonly name: string
  readonly topology: Topology
  readonly ports: ReadonlyMap<string, PortPair>
  readonly shares: number
  readonly threshold: number
  /** Bound on each wait. */
  readonly timeoutMs: number
  readonly settings: Readonly<Record<string, string | number | boolean>>
  readonly clock: Clock
  readonly onProgress: (text: string) => void
}

const STOP_MS = 15_000

/** The id of a secondary at its primary: what it is, and where it stands in the lab. */
export const secondaryIdOf = (link: Link): string =>
  `${link.kind === 'dr' ? 'dr' : 'perf'}-${link.secondary.toLowerCase()}`

/** Brings a topology up as processes of their own and waits until it is replicated; what failed is rolled back. */
export const upLab = async (options: UpOptions): Promise<LabRecord> => {
  const { name, topology } = options
  const known = findLab(name)
  if (known?.clusters.some(({ pid }) => isRunning(pid))) {
    throw new LabError(
      'conflict',
      `the lab "${name}" is running; stop it with "understudy down" or choose another --name`,
    )
  }
  if (known) forgetLab(known)
  const directory = makeDataDirectory(name)
  const started: ClusterRecord[] = []
  try {
    for (const cluster of topology.clusters) started.push(start(cluster, directory, options))
    const clusters = await Promise.all(started.map((cluster) => open(cluster, options)))
    const joined = await join(clusters, options)
    const lab: LabRecord = { name, topology: topology.name, directory, clusters: joined }
    saveLab(lab)
    return lab
  } catch (error) {
    const dead = started.find(({ pid }) => !isRunning(pid))
    const log = lastLogLines((dead ?? started.at(-1))?.logFile ?? '')
    await Promise.all(started.map(({ pid }) => stopServer(options.clock, pid, STOP_MS)))
    forgetLab({ name, topology: topology.name, directory, clusters: [] })
    const reason = error instanceof Error ? error.message : String(error)
    const code = error instanceof LabError ? error.code : 'remote'
    throw new LabError(
      code,
      `${reason}\n--- last log lines${dead ? ` of cluster ${dead.name}, which has ended` : ''}\n${log}`,
      { cause: error },
    )
  }
}

/** Stops every server of a lab and removes its data. False when there was no such lab. */
export const downLab = async (name: string, clock: Clock): Promise<boolean> => {
  const lab = findLab(name)
  if (!lab) return false
  await Promise.all(lab.clusters.map(({ pid }) => stopServer(clock, pid, STOP_MS)))
  forgetLab(lab)
  return true
}

const start = (cluster: string, directory: string, { ports, settings }: UpOptions): ClusterRecord => {
  const pair = ports.get(cluster)
  if (!pair) throw new LabError('usage', `no ports were chosen for cluster ${cluster}`)
  const place = path.join(directory, cluster)
  const server = startServer({
    name: cluster,
    apiPort: pair.api,
    clusterPort: pair.cluster,
    directory: place,
    settings,
  })
  return {
    name: cluster,
    apiAddress: `http://127.0.0.1:${pair.api}`,
    clusterAddress: `https://127.0.0.1:${pair.cluster}`,
    ...server,
    rootToken: '',
    unsealKeys: [],
    threshold: 0,
  }
}

const open = async (cluster: ClusterRecord, options: UpOptions): Promise<ClusterRecord> => {
  const client = clientOf(cluster)
  await waitForAnswer(options.clock, client, cluster.name, options.timeoutMs)
  const seal = await initialise(client, options.shares, options.threshold)
  client.close()
  options.onProgress(`cluster ${cluster.name} is open at ${cluster.apiAddress}`)
  return { ...cluster, ...seal }
}

/** Makes the links in their order. A secondary takes over the shares of its primary, and its old root token is dead. */
const join = async (clusters: readonly ClusterRecord[], options: UpOptions): Promise<ClusterRecord[]> => {
  const byName = new Map(clusters.map((cluster) => [cluster.name, cluster]))
  const get = (name: string): ClusterRecord => {
    const cluster = byName.get(name)
    if (!cluster) throw new LabError('usage', `the topology has no cluster ${name}`)
    return cluster
  }
  const enabled = new Set<string>()
  for (const link of options.topology.links) {
    const primary = get(link.primary)
    const role = `${link.kind} ${link.primary}`
    if (!enabled.has(role)) await enablePrimary(clientOf(primary), link.kind)
    enabled.add(role)
    byName.set(link.secondary, await connect(primary, get(link.secondary), link, options))
  }
  return clusters.map(({ name }) => get(name))
}

const connect = async (
  primary: ClusterRecord,
  secondary: ClusterRecord,
  link: Link,
  options: UpOptions,
): Promise<ClusterRecord> => {
  const { clock, timeoutMs, onProgress } = options
  const above = clientOf(primary)
  const below = clientOf(secondary)
  const what = `${secondary.name} to follow ${primary.name} (${link.kind})`
  await waitFor(clock, what, () => issue(above, below, link), timeoutMs)
  const openClient = below.with({ token: undefined })
  await waitFor(clock, what, () => findLag(above, openClient, link.kind), timeoutMs)
  const keys = primary.unsealKeys
  const rootToken = link.kind === 'dr' ? '' : await generateRoot(openClient, keys.slice(0, primary.threshold))
  for (const client of [above, below, openClient]) client.close()
  onProgress(`cluster ${secondary.name} is a ${link.kind} secondary of ${primary.name} and replicated`)
  return { ...secondary, rootToken, unsealKeys: keys, threshold: primary.threshold }
}

/** Issues an activation token and uses it; a primary that is still restarting is asked again. */
const issue = async (
  above: ReturnType<typeof clientOf>,
  below: ReturnType<typeof clientOf>,
  link: Link,
): Promise<string | undefined> => {
  const token = await secondaryToken(above, link.kind, secondaryIdOf(link))
  await enableSecondary(below, link.kind, token)
  return undefined
}
