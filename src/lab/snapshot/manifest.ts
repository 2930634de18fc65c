import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type ClusterAccess, type ClusterRecord, type Formerly, type ServerRecord, serversIn } from '../cluster.js'
import type { ActiveFault } from '../keeper/active-fault.js'
import { LabError } from '../lab-error.js'
import type { PortPair } from '../ports.js'
import type { Topology } from '../topology.js'

/**
 * All of a lab at one moment, as a directory: this manifest and an image of each cluster. It holds keys and tokens, so it
 * lies where only its owner reads it, or within a file that is sealed.
 */
export interface Manifest {
  readonly kind: 'LabImage'
  readonly lab: string
  readonly topology: Topology
  /** ISO 8601; of the lab. */
  readonly createdAt: string
  /** ISO 8601. */
  readonly savedAt: string
  /** How long no cluster wrote anything. */
  readonly pausedMs: number
  readonly clusters: readonly ImagedCluster[]
  /** Times that were left are `forMs`. */
  readonly faults: readonly SavedFault[]
}

/** A server as it was. */
export interface ImagedServer {
  readonly name: string
  readonly process: 'running' | 'paused' | 'stopped'
  readonly isSealed: boolean
  readonly ports: PortPair
  /** Where the others know it. */
  readonly formerly: Formerly
}

/** What it says of a server is of its only one; where it has several, one of them was active. */
export interface ImagedCluster
  extends ImagedServer,
    Pick<ClusterAccess, 'name' | 'rootToken' | 'unsealKeys' | 'threshold'> {
  /** Its servers, where they are several. */
  readonly nodes?: readonly ImagedServer[] | undefined
  /** Hex; of an auto-unseal seal. */
  readonly sealKey?: string | undefined
  /** Kinds of replication in which it streamed from its primary. */
  readonly streams: readonly ('dr' | 'performance')[]
  readonly sha256: string
  readonly bytes: number
}

export type SavedFault = Omit<ActiveFault, 'id' | 'untilMs'> & { readonly forMs?: number | undefined }

export const imageFile = (directory: string, cluster: string): string => path.join(directory, `${cluster}.image`)

const manifestFile = (directory: string): string => path.join(directory, 'manifest.json')

export const writeManifest = (directory: string, manifest: Manifest): void =>
  writeFileSync(manifestFile(directory), JSON.stringify(manifest), { mode: 0o600 })

export const readManifest = (directory: string): Manifest => {
  try {
    const found = JSON.parse(readFileSync(manifestFile(directory), 'utf8')) as Partial<Manifest>
    if (found.kind === 'LabImage' && Array.isArray(found.clusters)) return found as Manifest
  } catch {
    // Said below, as for one that makes no sense.
  }
  throw new LabError('conflict', `${directory} holds no whole image of a lab`)
}

export const imagedServers = (clusters: readonly ImagedCluster[]): readonly ImagedServer[] =>
  clusters.flatMap<ImagedServer>(serversIn<ImagedServer>)

/** Addresses under which others know a server by now, and those that they must not reach. */
export const formerlyOf = ({ balancer }: Pick<ClusterRecord, 'balancer'>, server: ServerRecord): Formerly => {
  const { ports, formerly } = server
  const at = (port: number | undefined): string[] => (port === undefined ? [] : [`127.0.0.1:${port}`])
  const add = (known: readonly string[] = [], more: readonly string[]): string[] => [...new Set([...known, ...more])]
  return {
    api: add(formerly?.api, at(balancer?.api ?? ports.api)),
    cluster: add(formerly?.cluster, at(balancer?.cluster ?? ports.cluster)),
    hidden: add(formerly?.hidden, balancer ? [...at(ports.api), ...at(ports.cluster)] : []),
  }
}
