import path from 'node:path'
import type { Clock } from '../base/clock.js'
import type { ClusterRecord, LabRecord } from './cluster.js'
import { findLab, forgetLab, makeDataDirectory, saveLab } from './lab-files.js'
import { LabError } from './lab-error.js'
import type { PortPair } from './ports.js'
import { isRunning, lastLogLines, startServer, stopServer } from './runner/child-process.js'
import type { Topology } from './topology.js'
import { joinClusters, openCluster } from './wire.js'

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
    const clusters = await Promise.all(started.map((cluster) => openCluster(cluster, options)))
    const joined = await joinClusters(clusters, topology.links, options)
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
  const server = startServer({ name: cluster, ports: pair, directory: place, settings })
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
