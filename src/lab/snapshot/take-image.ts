import { copyFileSync, readFileSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import { IMAGE_OUT, type ImageFacts, imageOfStopped } from '../../server/data/cluster-image.js'
import type { ApiClient } from '../../client/api-client.js'
import {
  type ClusterRecord,
  clientOf,
  type LabRecord,
  type ServerRecord,
  withAnonymousClient,
} from '../model/cluster.js'
import { LabDaemonClient } from '../daemon/lab-daemon-client.js'
import { KINDS, type Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { findServer } from '../processes/launch.js'
import { askStatus } from '../requests/replication.js'
import { topologyOf } from '../topology/catalogue.js'
import { waitFor } from '../requests/wait.js'
import { findHolder } from './load-image.js'
import {
  formerlyOf,
  type ImagedCluster,
  imageFile,
  type LabImage,
  type Manifest,
  type SavedFault,
  writeManifest,
} from './manifest.js'
import { claimLab } from '../processes/claim.js'
import { requireLab } from '../model/lab-directory.js'
import type { LabHost } from '../processes/lab-host.js'
import { snapshotPath } from './kept.js'
import { openingDirectory, packSnapshot, prepareSnapshot, unpackSnapshot } from './snapshot-file.js'

const PAUSE_WAIT_MS = 5000

/** Captures every cluster at one time: all stop writing before the first is read. Empties the directory first. */
export const takeLabImage = async (
  lab: LabRecord,
  directory: string,
  host: LabHost,
  signal?: AbortSignal,
): Promise<Manifest> => {
  const topology = topologyOf(lab)
  if (!topology) throw new LabError('conflict', `it is not known any more what the lab "${lab.name}" was made as`)
  const states = await Promise.all(lab.clusters.map((cluster) => stateOf(lab, cluster, host)))
  rmSync(directory, { recursive: true, force: true })
  makeDirectory(directory, 0o700)
  const running = states.filter(({ process }) => process === 'running').map(({ cluster }) => cluster)
  const roles = new Map<string, Pick<ImagedCluster, 'isSealed' | 'streams'>>()
  await Promise.all(
    running.map(async (cluster) => roles.set(cluster.name, await withAnonymousClient(cluster, rolesOf))),
  )
  const { facts, pausedMs } = await takeRunning(running, directory, host, signal)
  for (const { cluster, process } of states) {
    if (process === 'running') continue
    signal?.throwIfAborted()
    facts.set(cluster.name, await imageOfStopped(cluster.dataDir, imageFile(directory, cluster.name)))
  }
  const manifest: Manifest = {
    kind: 'LabImage',
    lab: lab.name,
    topology,
    createdAt: lab.createdAt,
    savedAt: new Date(host.clock.now()).toISOString(),
    pausedMs,
    clusters: states.map(({ cluster, process, nodes }) => ({
      name: cluster.name,
      rootToken: cluster.rootToken,
      unsealKeys: cluster.unsealKeys,
      threshold: cluster.threshold,
      process,
      ...(cluster.sealKeyFile === undefined ? {} : { sealKey: readFileSync(cluster.sealKeyFile, 'utf8').trim() }),
      ports: cluster.ports,
      formerly: formerlyOf(cluster, cluster),
      ...(nodes ? { nodes } : {}),
      ...(roles.get(cluster.name) ?? { isSealed: false, streams: [] }),
      ...(facts.get(cluster.name) ?? { sha256: '', bytes: 0 }),
    })),
    faults: await faultsOf(lab, host),
  }
  writeManifest(directory, manifest)
  return manifest
}

interface ClusterState extends Pick<ImagedCluster, 'process' | 'nodes'> {
  /** The cluster at the server that has its data. */
  readonly cluster: ClusterRecord
}

const stateOf = async (lab: LabRecord, cluster: ClusterRecord, host: LabHost): Promise<ClusterState> => {
  if (!cluster.nodes) return { cluster, process: processOf(lab, cluster, host) }
  const holder = await findHolder(cluster, host.clock)
  const nodes = cluster.nodes.map(async (server) => {
    const process = processOf(lab, server, host)
    const isSealed = process === 'running' && (await withAnonymousClient({ ...cluster, ...server }, isSealedAt))
    return { name: server.name, process, isSealed, ports: server.ports, formerly: formerlyOf(cluster, server) }
  })
  return { cluster: holder, process: 'running', nodes: await Promise.all(nodes) }
}

const isSealedAt = async (client: ApiClient): Promise<boolean> => (await client.read('sys/seal-status')).sealed === true

const processOf = (lab: LabRecord, server: ServerRecord, host: LabHost): ImagedCluster['process'] => {
  const found = findServer(lab, server, host)
  return found ? (found.isFrozen ? 'paused' : 'running') : 'stopped'
}

const rolesOf = async (client: ApiClient): Promise<Pick<ImagedCluster, 'isSealed' | 'streams'>> => {
  if (await isSealedAt(client)) return { isSealed: true, streams: [] }
  const streams: Kind[] = []
  for (const kind of KINDS) {
    const { mode, state } = await askStatus(client, kind)
    if (mode === 'secondary' && state === 'stream-wals') streams.push(kind)
  }
  return { isSealed: false, streams }
}

const takeRunning = async (
  clusters: readonly ClusterRecord[],
  directory: string,
  { clock }: LabHost,
  signal?: AbortSignal,
): Promise<{ facts: Map<string, ImageFacts>; pausedMs: number }> => {
  const clients = clusters.map((cluster) => clientOf({ ...cluster, rootToken: '' }))
  const post = (index: number, step: string) => clients[index]?.call('POST', `/_understudy/v1/image/${step}`)
  const facts = new Map<string, ImageFacts>()
  try {
    const pause = async (index: number) => {
      await post(index, 'pause')
      return undefined
    }
    // Retries while a cluster is changing its role, since it cannot pause then.
    await Promise.all(
      clusters.map(({ name }, index) =>
        waitFor(clock, `cluster ${name} to pause its writes`, () => pause(index), PAUSE_WAIT_MS, signal),
      ),
    )
    const taken = await Promise.all(clusters.map((_, index) => post(index, 'take')))
    for (const [index, { name, dataDir }] of clusters.entries()) {
      moveFile(path.join(dataDir, IMAGE_OUT), imageFile(directory, name))
      facts.set(name, taken[index] as unknown as ImageFacts)
    }
    return { facts, pausedMs: Math.max(0, ...taken.map((one) => Number(one?.paused_ms ?? 0))) }
  } catch (error) {
    await Promise.all(clusters.map((_, index) => post(index, 'release')?.catch(() => undefined)))
    throw error
  } finally {
    for (const client of clients) client.close()
  }
}

const moveFile = (from: string, to: string): void => {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    copyFileSync(from, to)
    rmSync(from)
  }
}

/** Returns the active faults. Empty without a lab daemon: all links are down then, which is not an injected fault. */
const faultsOf = async ({ keeper }: LabRecord, { clock }: LabHost): Promise<SavedFault[]> => {
  const active = await new LabDaemonClient(keeper.socket).list().catch(() => [])
  return active.map((fault) => {
    const { id: _, untilMs, ...wish } = fault
    return { ...wish, ...(untilMs === undefined ? {} : { forMs: Math.max(1, untilMs - clock.now()) }) }
  })
}

interface SaveOptions {
  /** Replaces an existing snapshot. */
  readonly isForced: boolean
  readonly signal?: AbortSignal | undefined
}

/** Saves the current state of a lab, under a name or in a file. `pausedMs`: how long writes waited. */
export const saveSnapshot = async (
  name: string,
  nameOrFile: string,
  { isForced, signal }: SaveOptions,
  host: LabHost,
): Promise<{ readonly file: string; readonly pausedMs: number }> => {
  const file = snapshotPath(nameOrFile)
  const lab = requireLab(name)
  const claim = claimLab(name, 'changed', host.me, host.table)
  let directory: string | undefined
  try {
    directory = prepareSnapshot(file, isForced, host)
    const { pausedMs } = await takeLabImage(lab, directory, host, signal)
    await packSnapshot(directory, file, signal)
    return { file, pausedMs }
  } finally {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
    claim.release()
  }
}

/** Runs work with the validated image of a snapshot. Deletes the image afterwards. */
export const withSnapshot = async <T>(
  nameOrFile: string,
  host: LabHost,
  work: (image: LabImage) => Promise<T>,
): Promise<T> => {
  const directory = openingDirectory(host)
  try {
    return await work({ directory, manifest: await unpackSnapshot(snapshotPath(nameOrFile), directory) })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
