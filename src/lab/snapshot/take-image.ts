import { copyFileSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import { inStep } from '../../base/progress.js'
import { IMAGE_OUT, type ImageFacts, imageOfStopped } from '../../server/data/cluster-image.js'
import type { ApiClient } from '../../client/api-client.js'
import { type ClusterRecord, type LabRecord, type ServerRecord, withAnonymousClient } from '../model/cluster.js'
import { LabDaemonClient } from '../daemon/lab-daemon-client.js'
import { KINDS } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { findServer } from '../processes/launch.js'
import { askStatuses } from '../requests/replication.js'
import type { ReplicationStatus } from '../requests/replication-status.js'
import { topologyOf } from '../topology/catalogue.js'
import { waitFor } from '../requests/wait.js'
import { findSource, type ImagedClient, withImageClients } from './load-image.js'
import {
  formerlyOf,
  type ImagedCluster,
  imageFile,
  type LabImage,
  type Manifest,
  sealKeyOf,
  writeManifest,
} from './manifest.js'
import { claimLab } from '../processes/claim.js'
import { requireLab } from '../model/lab-directory.js'
import type { LabHost } from '../processes/lab-host.js'
import { snapshotPath } from './stored.js'
import { openingDirectory, packSnapshot, prepareSnapshot, type SaveOptions, unpackSnapshot } from './snapshot-file.js'

const PAUSE_WAIT_MS = 5000

/**
 * Writes the image of a lab into an emptied directory. All clusters stop writing before the first is read. Rejects with
 * LabError `conflict` if the topology of the lab is unknown.
 */
export const takeLabImage = async (
  lab: LabRecord,
  directory: string,
  host: LabHost,
  signal?: AbortSignal,
): Promise<Manifest> => {
  const topology = topologyOf(lab)
  if (!topology) throw new LabError('conflict', `the topology of the lab "${lab.name}" is unknown`)
  const states = await Promise.all(lab.clusters.map((cluster) => stateOf(lab, cluster, host)))
  rmSync(directory, { recursive: true, force: true })
  makeDirectory(directory, 0o700)
  const running = states.filter(({ process }) => process === 'running').map(({ cluster }) => cluster)
  const rolesAt = async (cluster: ClusterRecord) => [cluster.name, await withAnonymousClient(cluster, rolesOf)] as const
  const roles = new Map(await Promise.all(running.map(rolesAt)))
  const { facts, pausedMs } = await withImageClients(running, (all) => takeRunning(all, directory, host, signal))
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
      sealKey: sealKeyOf(cluster),
      ports: cluster.ports,
      formerly: formerlyOf(cluster, cluster),
      nodes,
      ...(roles.get(cluster.name) ?? { isSealed: false, streams: [] }),
      ...(facts.get(cluster.name) ?? { sha256: '', bytes: 0 }),
    })),
    faults: await faultsOf(lab, host),
  }
  writeManifest(directory, manifest)
  return manifest
}

/** Returns the states of a cluster's servers, and the cluster at the server that has all of its data. */
const stateOf = async (
  lab: LabRecord,
  cluster: ClusterRecord,
  host: LabHost,
): Promise<Pick<ImagedCluster, 'process' | 'nodes'> & { readonly cluster: ClusterRecord }> => {
  if (!cluster.nodes) return { cluster, process: processOf(lab, cluster, host) }
  const source = await findSource(cluster, host.clock)
  const nodes = cluster.nodes.map(async (server) => {
    const process = processOf(lab, server, host)
    const isSealed = process === 'running' && (await withAnonymousClient({ ...cluster, ...server }, isSealedAt))
    return { name: server.name, process, isSealed, ports: server.ports, formerly: formerlyOf(cluster, server) }
  })
  return { cluster: source, process: 'running', nodes: await Promise.all(nodes) }
}

const isSealedAt = async (client: ApiClient): Promise<boolean> => (await client.read('sys/seal-status')).sealed === true

const processOf = (lab: LabRecord, server: ServerRecord, host: LabHost): ImagedCluster['process'] => {
  const found = findServer(lab, server, host)
  return found ? (found.isFrozen ? 'paused' : 'running') : 'stopped'
}

const rolesOf = async (client: ApiClient): Promise<Pick<ImagedCluster, 'isSealed' | 'streams'>> => {
  if (await isSealedAt(client)) return { isSealed: true, streams: [] }
  const statuses = await askStatuses(client)
  // Unlike `isStreaming`, also true while the secondary is disconnected.
  const isInStream = ({ mode, state }: ReplicationStatus) => mode === 'secondary' && state === 'stream-wals'
  return { isSealed: false, streams: KINDS.filter((kind) => isInStream(statuses[kind])) }
}

const takeRunning = async (
  running: readonly ImagedClient[],
  directory: string,
  { clock }: LabHost,
  signal?: AbortSignal,
): Promise<{ facts: Map<string, ImageFacts>; pausedMs: number }> => {
  const facts = new Map<string, ImageFacts>()
  // Retries while a cluster is changing its role, since it cannot pause then.
  const pause = ({ cluster, post }: ImagedClient) => {
    const paused = () => post('pause').then(() => undefined)
    return waitFor(clock, `cluster ${cluster.name} to pause its writes`, paused, PAUSE_WAIT_MS, signal)
  }
  try {
    await Promise.all(running.map(pause))
    const taken = await Promise.all(running.map(async ({ cluster, post }) => ({ cluster, answer: await post('take') })))
    for (const { cluster, answer } of taken) {
      moveFile(path.join(cluster.dataDir, IMAGE_OUT), imageFile(directory, cluster.name))
      facts.set(cluster.name, answer as unknown as ImageFacts)
    }
    return { facts, pausedMs: Math.max(0, ...taken.map(({ answer }) => Number(answer.paused_ms ?? 0))) }
  } catch (error) {
    await Promise.all(running.map(({ post }) => post('release').catch(() => undefined)))
    throw error
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

/** Returns the active faults. Empty if the lab daemon does not respond: all links are down then, but not by a fault. */
const faultsOf = async ({ keeper }: LabRecord, { clock }: LabHost): Promise<Manifest['faults']> => {
  const active = await new LabDaemonClient(keeper.socket).list().catch(() => [])
  return active.map(({ id: _, untilMs, ...fault }) => ({
    ...fault,
    ...(untilMs === undefined ? {} : { forMs: Math.max(1, untilMs - clock.now()) }),
  }))
}

/**
 * Saves the current state of a lab, under a name or in a file. `isForced`: replaces an existing snapshot. `pausedMs`:
 * the time for which writes waited.
 */
export const saveSnapshot = async (
  name: string,
  nameOrFile: string,
  { signal, ...options }: SaveOptions & { readonly signal?: AbortSignal | undefined },
  host: LabHost,
): Promise<{ readonly file: string; readonly pausedMs: number }> => {
  const file = snapshotPath(nameOrFile)
  const lab = requireLab(name)
  using _claim = claimLab(name, 'changed', host)
  let directory: string | undefined
  try {
    directory = prepareSnapshot(file, options, host)
    const image = directory
    const { pausedMs } = await inStep(
      'copy the data of all clusters',
      () => takeLabImage(lab, image, host, signal),
      (taken) => `snapshot taken, consistent across all clusters; writes were paused for ${taken.pausedMs} ms`,
    )
    await inStep('encrypt the snapshot', () => packSnapshot(image, file, signal), 'encrypted the snapshot')
    return { file, pausedMs }
  } finally {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
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
    const unpack = () => unpackSnapshot(snapshotPath(nameOrFile), directory)
    const manifest = await inStep('verify the snapshot', unpack, 'verified the snapshot')
    return await work({ directory, manifest })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
