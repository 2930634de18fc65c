import { readFileSync } from 'node:fs'
import { attempt } from '../../base/attempt.js'
import { replaceFile } from '../../base/replace-file.js'
import path from 'node:path'
import { type ClusterRecord, type Formerly, type ServerRecord, serversIn } from '../model/cluster.js'
import { type ActiveFault, parseFaultRequest } from '../daemon/active-fault.js'
import { isRecord } from '../documents/schema.js'
import { KINDS } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { LAB_NAME } from '../model/state-directory.js'
import { serversOf, type Topology } from '../model/topology.js'
import { parseTopology, topologyDocument } from '../topology/parse.js'

type Check<T> = (value: unknown) => value is T
type Checked<C> = C extends Check<infer T> ? T : never

/** A map whose properties pass these checks. A property that may be undefined may be absent. */
type MapOf<C> = {
  readonly [K in keyof C as undefined extends Checked<C[K]> ? never : K]: Checked<C[K]>
} & { readonly [K in keyof C as undefined extends Checked<C[K]> ? K : never]?: Checked<C[K]> }

const isTextLike =
  (form: RegExp): Check<string> =>
  (value): value is string =>
    typeof value === 'string' && form.test(value)
const isText = isTextLike(/^\P{Cc}*$/u)
const isOf =
  <const T extends string>(...texts: readonly T[]): Check<T> =>
  (value): value is T =>
    texts.some((text) => text === value)
const isWhole =
  (least: number, most: number): Check<number> =>
  (value): value is number =>
    Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most
const isListOf =
  <T>(check: Check<T>): Check<readonly T[]> =>
  (value): value is readonly T[] =>
    Array.isArray(value) && value.every(check)
const isMaybe =
  <T>(check: Check<T>): Check<T | undefined> =>
  (value): value is T | undefined =>
    value === undefined || check(value)
const hasAll =
  <C extends Readonly<Record<string, Check<unknown>>>>(checks: C): Check<MapOf<C>> =>
  (value): value is MapOf<C> =>
    isRecord(value) && Object.entries(checks).every(([name, check]) => check(value[name]))

type SavedFault = Omit<ActiveFault, 'id' | 'untilMs'> & { readonly forMs?: number | undefined }

const isFault = (value: unknown): value is SavedFault => attempt(() => parseFaultRequest(value)) !== undefined

const ADDRESSES = isListOf(isText)
const PORT = isWhole(1, 65_535)
const SERVER = {
  name: isText,
  process: isOf('running', 'paused', 'stopped'),
  isSealed: (value: unknown): value is boolean => typeof value === 'boolean',
  ports: hasAll({ api: PORT, cluster: PORT }),
  /** The addresses of the server that other servers may have stored. */
  formerly: hasAll({ api: ADDRESSES, cluster: ADDRESSES, hidden: ADDRESSES }),
}
const isServer = hasAll(SERVER)
export type ImagedServer = Checked<typeof isServer>

const isCluster = hasAll({
  ...SERVER,
  rootToken: isText,
  unsealKeys: isListOf(isText),
  threshold: isWhole(0, 255),
  /** The nodes of a multi-node cluster. */
  nodes: isMaybe(isListOf(isServer)),
  /** Auto-unseal key in hex. */
  sealKey: isMaybe(isTextLike(/^[0-9a-f]{64}$/i)),
  /** The kinds of replication in which the cluster streamed from its primary. */
  streams: isListOf(isOf(...KINDS)),
  sha256: isText,
  bytes: isWhole(0, Number.MAX_SAFE_INTEGER),
})
/** The state of a cluster in an image. The fields of `SERVER` describe the single server or the active node. */
export type ImagedCluster = Checked<typeof isCluster>

/** Whether a value has the form of a manifest. `parseTopology` validates its topology. */
const isManifest = hasAll({
  kind: isOf('LabImage'),
  lab: isTextLike(LAB_NAME),
  topology: (value: unknown): value is Topology => isRecord(value),
  /** Creation time of the lab. ISO 8601. */
  createdAt: isText,
  /** ISO 8601. */
  savedAt: isText,
  /** Time during which no cluster wrote, in milliseconds. */
  pausedMs: (value: unknown): value is number => typeof value === 'number',
  clusters: isListOf(isCluster),
  /** The active faults. `forMs`: the remaining duration of a fault in milliseconds. */
  faults: isListOf(isFault),
})

/** The description of a lab image. Contains keys and tokens, so only its owner may read it. */
export type Manifest = Checked<typeof isManifest>

/** The image of a lab: a directory with the manifest and an image of each cluster. */
export interface LabImage {
  readonly directory: string
  readonly manifest: Manifest
}

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
  throw new LabError('conflict', `${directory} has no complete image of a lab`)
}

export const imagedServers = (clusters: readonly ImagedCluster[]): readonly ImagedServer[] =>
  clusters.flatMap<ImagedServer>(serversIn<ImagedServer>)

/** Returns the ports that servers of an image had. After a restart on other ports, servers still connect to these. */
export const formerPortsOf = (servers: readonly Pick<ImagedServer, 'formerly'>[]): ReadonlySet<number> =>
  new Set(
    servers
      .flatMap(({ formerly }) => Object.values(formerly).flat())
      .map((address) => Number(address.slice(address.lastIndexOf(':') + 1))),
  )

/**
 * Validates a manifest, with its topology as strictly as a topology file of a user. A snapshot is untrusted input: its
 * author also chose its key. Its names and settings become file names and server settings. Throws LabError `conflict`
 * for an invalid manifest.
 */
export const validateManifest = (manifest: unknown, file: string): Manifest => {
  if (!isManifest(manifest)) throw damaged(file, 'its manifest is invalid')
  const topology = parseTopology(topologyDocument(manifest.topology), file)
  for (const cluster of manifest.clusters) {
    const { name } = cluster
    if (!topology.clusters.includes(name)) throw damaged(file, `its topology has no cluster "${name}"`)
    const servers = serversOf(topology, name)
    const other = imagedServers([cluster]).find((server) => !servers.includes(server.name))
    if (other) throw damaged(file, `its topology has no server "${other.name}"`)
  }
  return { ...manifest, topology }
}

export const damaged = (file: string, how: string): LabError => new LabError('conflict', `${file} is damaged: ${how}`)

/** Returns the auto-unseal key of a cluster in hex, if it has one. */
export const sealKeyOf = ({ sealKeyFile }: ClusterRecord): string | undefined =>
  sealKeyFile === undefined ? undefined : readFileSync(sealKeyFile, 'utf8').trim()

/** Returns the addresses that other servers use for a server. `hidden`: its own addresses behind a load balancer. */
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
