import { readFileSync } from 'node:fs'
import { replaceFile } from '../../base/replace-file.js'
import path from 'node:path'
import {
  type ClusterAccess,
  type ClusterRecord,
  type Formerly,
  type ServerRecord,
  serversIn,
} from '../model/cluster.js'
import { type ActiveFault, parseFaultRequest } from '../daemon/active-fault.js'
import { KINDS } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import type { PortPair } from '../model/ports.js'
import { LAB_NAME } from '../model/state-directory.js'
import type { Topology } from '../model/topology.js'

/**
 * A lab at one time, as a directory with this manifest and an image of each cluster. It contains keys and tokens, so it is
 * readable by its owner only, or inside an encrypted file.
 */
export interface Manifest {
  readonly kind: 'LabImage'
  readonly lab: string
  readonly topology: Topology
  /** Creation time of the lab. ISO 8601. */
  readonly createdAt: string
  /** ISO 8601. */
  readonly savedAt: string
  /** Time during which no cluster wrote, in milliseconds. */
  readonly pausedMs: number
  readonly clusters: readonly ImagedCluster[]
  /** Remaining durations are in `forMs`. */
  readonly faults: readonly SavedFault[]
}

/** The image of a lab. The directory has the manifest, and the data of each cluster. */
export interface LabImage {
  readonly directory: string
  readonly manifest: Manifest
}

/** The state of a server. */
export interface ImagedServer {
  readonly name: string
  readonly process: 'running' | 'paused' | 'stopped'
  readonly isSealed: boolean
  readonly ports: PortPair
  /** Its addresses as known to other servers. */
  readonly formerly: Formerly
}

/** Server values are those of the single server. If there were several, one of them was active. */
export interface ImagedCluster
  extends ImagedServer,
    Pick<ClusterAccess, 'name' | 'rootToken' | 'unsealKeys' | 'threshold'> {
  /** Its servers, if there are several. */
  readonly nodes?: readonly ImagedServer[] | undefined
  /** Auto-unseal key in hex. */
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
  replaceFile(manifestFile(directory), JSON.stringify(manifest))

export const readManifest = (directory: string): Manifest => {
  try {
    const found: unknown = JSON.parse(readFileSync(manifestFile(directory), 'utf8'))
    if (isManifest(found)) return found
  } catch {
    // Reported below, like a value with an invalid form.
  }
  throw new LabError('conflict', `${directory} holds no whole image of a lab`)
}

type Given = Readonly<Record<string, unknown>>
type Check = (value: unknown) => boolean

const isRecord = (value: unknown): value is Given =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isText: Check = (value) => typeof value === 'string' && !/\p{Cc}/u.test(value)
const isOf =
  (...texts: readonly string[]): Check =>
  (value) =>
    texts.some((text) => text === value)
const isWhole =
  (least: number, most: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)
const isMaybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)
const hasAll =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isRecord(value) && Object.entries(checks).every(([name, check]) => check(value[name]))

const ADDRESSES = isListOf(isText)
const PORT = isWhole(1, 65_535)
const SERVER = {
  name: isText,
  process: isOf('running', 'paused', 'stopped'),
  isSealed: (value: unknown) => typeof value === 'boolean',
  ports: hasAll({ api: PORT, cluster: PORT }),
  formerly: hasAll({ api: ADDRESSES, cluster: ADDRESSES, hidden: ADDRESSES }),
}
const CLUSTER = {
  ...SERVER,
  rootToken: isText,
  unsealKeys: isListOf(isText),
  threshold: isWhole(0, 255),
  nodes: isMaybe(isListOf(hasAll(SERVER))),
  sealKey: isMaybe((value) => typeof value === 'string' && /^[0-9a-f]{64}$/i.test(value)),
  streams: isListOf(isOf(...KINDS)),
  sha256: isText,
  bytes: isWhole(0, Number.MAX_SAFE_INTEGER),
}

const isFault: Check = (value) => {
  try {
    return parseFaultRequest(value) !== undefined
  } catch {
    return false
  }
}

const MANIFEST = hasAll({
  kind: isOf('LabImage'),
  lab: (value) => typeof value === 'string' && LAB_NAME.test(value),
  topology: isRecord,
  createdAt: isText,
  savedAt: isText,
  pausedMs: (value) => typeof value === 'number',
  clusters: isListOf(hasAll(CLUSTER)),
  faults: isListOf(isFault),
})

/** Whether a value has the form of a manifest. `parseTopology` validates its topology. */
export const isManifest = (value: unknown): value is Manifest => MANIFEST(value)

export const imagedServers = (clusters: readonly ImagedCluster[]): readonly ImagedServer[] =>
  clusters.flatMap<ImagedServer>(serversIn<ImagedServer>)

/** Returns the addresses by which others know a server, and those that they must not reach. */
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
