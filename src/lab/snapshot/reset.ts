import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { type ClusterRecord, type LabRecord, requireSingles } from '../cluster.js'
import { KeeperClient } from '../keeper/keeper-client.js'
import { LabError } from '../lab-error.js'
import { claimLab } from '../lifecycle/claim.js'
import { findServer, launchCluster } from '../lifecycle/cluster-server.js'
import { startKeeper } from '../lifecycle/keeper-process.js'
import { requireLab, saveLab } from '../lifecycle/lab-directory.js'
import type { LabHost } from '../lifecycle/lab-host.js'
import { waitForAnswers } from '../replication.js'
import { type LoadOptions, loadLabImage } from './load-image.js'
import { formerlyOf, type ImagedCluster, type Manifest, readManifest } from './manifest.js'

/** Where the image lies of how a lab was right after `up`, or of the snapshot that it was loaded from. */
export const startDirectory = ({ directory }: Pick<LabRecord, 'directory'>): string => path.join(directory, 'start')

/** Brings a lab back to how it was right after `up`, or as it was loaded: data, keys, faults, clocks and processes. */
export const resetLab = async (
  name: string,
  options: LoadOptions,
  host: LabHost,
): Promise<{ readonly savedAt: string }> => {
  const lab = requireLab(name)
  requireSingles(lab, 'reset')
  const directory = startDirectory(lab)
  if (!existsSync(directory))
    throw new LabError(
      'conflict',
      `the lab "${name}" has no start to go back to; "understudy down" and "up" make a new one`,
    )
  const manifest = readManifest(directory)
  await loadInto(name, directory, manifest, options, host, 'reset')
  return manifest
}

/** Brings a lab that is there to the moment of an image, which is its start from then on. */
export const loadOver = async (
  name: string,
  directory: string,
  manifest: Manifest,
  options: LoadOptions,
  host: LabHost,
): Promise<LabRecord> => {
  const lab = requireLab(name)
  requireFit(lab, manifest)
  const loaded = await loadInto(name, directory, manifest, options, host)
  rmSync(startDirectory(lab), { recursive: true, force: true })
  cpSync(directory, startDirectory(lab), { recursive: true })
  return loaded
}

/** The servers run with their own addresses and seal keys: an image that needs others is for a new lab. */
const requireFit = (lab: LabRecord, { clusters }: Manifest): void => {
  const isSame = clusters.length === lab.clusters.length && lab.clusters.every((cluster) => fits(cluster, clusters))
  if (isSame) return
  const text = `the lab "${lab.name}" is not the one of the snapshot, or has moved since`
  throw new LabError(
    'conflict',
    `${text}: take it down first ("understudy down ${lab.name}"), or load under another --name`,
  )
}

const fits = (cluster: ClusterRecord, clusters: readonly ImagedCluster[]): boolean => {
  const imaged = clusters.find(({ name }) => name === cluster.name)
  if (!imaged) return false
  const known = formerlyOf(cluster)
  const isKnown = (['api', 'cluster', 'hidden'] as const).every((kind) =>
    imaged.formerly[kind].every((address) => known[kind].includes(address)),
  )
  const key = cluster.sealKeyFile === undefined ? undefined : readFileSync(cluster.sealKeyFile, 'utf8').trim()
  return isKnown && key === imaged.sealKey
}

/** Loads an image into a lab that is there; servers that do not run, or are frozen, begin anew on empty directories. */
const loadInto = async (
  name: string,
  directory: string,
  manifest: Manifest,
  options: LoadOptions,
  host: LabHost,
  verb: 'load' | 'reset' = 'load',
): Promise<LabRecord> => {
  const claim = claimLab(name, 'changed', host.me, host.table)
  try {
    const lab = await withAllRunning(requireLab(name), options, host)
    const loaded = await loadLabImage(lab, directory, manifest, options, host)
    await new KeeperClient(lab.keeper.socket).tell({
      kind: 'command',
      details: { verb, savedAt: manifest.savedAt },
    })
    return loaded
  } finally {
    claim.release()
  }
}

const withAllRunning = async (
  stale: LabRecord,
  { timeoutMs, signal }: LoadOptions,
  host: LabHost,
): Promise<LabRecord> => {
  const { keeper } = await startKeeper(stale, host, timeoutMs, signal)
  const lab = { ...stale, keeper }
  const begun = lab.clusters.map((cluster) => {
    const found = findServer(lab, cluster, host)
    if (found && !found.isFrozen) return { cluster, isNew: false }
    if (found) host.servers.signal(found, 'SIGKILL')
    return { cluster, isNew: true, frozen: found }
  })
  const frozen = begun.flatMap((one) => one.frozen ?? [])
  await host.servers.stop(frozen, { graceMs: 0 })
  const clusters = await Promise.all(
    begun.map(async ({ cluster, isNew }) => {
      if (!isNew) return cluster
      // With its old data it would follow and be followed before it is given the new.
      rmSync(cluster.dataDir, { recursive: true, force: true })
      const { process } = await launchCluster(lab, cluster, host, { timeoutMs })
      return { ...cluster, process }
    }),
  )
  const running = { ...lab, clusters }
  saveLab(running)
  const fresh = begun.flatMap(({ cluster, isNew }) => (isNew ? [cluster] : []))
  await waitForAnswers(fresh, { clock: host.clock, timeoutMs, signal })
  return running
}
