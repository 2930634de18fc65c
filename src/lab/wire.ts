import type { Clock } from '../base/clock.js'
import type { ApiClient } from '../client/api-client.js'
import { type ClusterAccess, clientOf, type WiredClusters } from './cluster.js'
import { LabError } from './lab-error.js'
import {
  enablePrimary,
  enableSecondary,
  findLag,
  generateRoot,
  initialise,
  secondaryToken,
  statusOf,
  unseal,
  waitForAnswer,
} from './replication.js'
import type { Link, Topology } from './topology.js'
import { waitFor } from './wait.js'

/** How servers that run already, wherever they run, are opened and joined. */
export interface WireOptions {
  readonly shares: number
  readonly threshold: number
  /** Bound on each wait. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly onProgress: (text: string) => void
  /** Ends every wait when it is aborted. */
  readonly signal?: AbortSignal | undefined
}

/** The id of a secondary at its primary: what it is, and where it stands in the lab. */
export const secondaryIdOf = (link: Link): string =>
  `${link.kind === 'dr' ? 'dr' : 'perf'}-${link.secondary.toLowerCase()}`

/** Waits for a new server, initialises and unseals it. */
export const openCluster = async <T extends ClusterAccess>(cluster: T, options: WireOptions): Promise<T> => {
  const client = clientOf(cluster)
  await waitForAnswer(options.clock, client, cluster.name, options.timeoutMs, options.signal)
  const seal = await initialise(client, options.shares, options.threshold)
  client.close()
  options.onProgress(`cluster ${cluster.name} is open at ${cluster.apiAddress}`)
  return { ...cluster, ...seal }
}

/** Makes the links in their order. A secondary takes over the shares of its primary, and its old root token is dead. */
export const joinClusters = async <T extends ClusterAccess>(
  clusters: readonly T[],
  links: readonly Link[],
  options: WireOptions,
): Promise<T[]> => {
  const byName = new Map(clusters.map((cluster) => [cluster.name, cluster]))
  const get = (name: string): T => {
    const cluster = byName.get(name)
    if (!cluster) throw new LabError('usage', `the topology has no cluster ${name}`)
    return cluster
  }
  const enabled = new Set<string>()
  for (const link of links) {
    const primary = get(link.primary)
    const role = `${link.kind} ${link.primary}`
    if (!enabled.has(role)) await enablePrimary(clientOf(primary), link.kind)
    enabled.add(role)
    byName.set(link.secondary, await connect(primary, get(link.secondary), link, options))
  }
  return clusters.map(({ name }) => get(name))
}

const connect = async <T extends ClusterAccess>(
  primary: ClusterAccess,
  secondary: T,
  link: Link,
  options: WireOptions,
): Promise<T> => {
  const { clock, timeoutMs, onProgress, signal } = options
  const above = clientOf(primary)
  const below = clientOf(secondary)
  const what = `${secondary.name} to follow ${primary.name} (${link.kind})`
  await waitFor(clock, what, () => joinSecondary(above, below, link), timeoutMs, signal)
  const openClient = below.with({ token: undefined })
  await waitFor(clock, what, () => findLag(above, openClient, link.kind), timeoutMs, signal)
  const keys = primary.unsealKeys
  const rootToken =
    link.kind === 'dr' ? '' : await newRootToken(openClient, keys.slice(0, primary.threshold), what, options)
  for (const client of [above, below, openClient]) client.close()
  onProgress(`cluster ${secondary.name} is a ${link.kind} secondary of ${primary.name} and replicated`)
  return { ...secondary, rootToken, unsealKeys: keys, threshold: primary.threshold }
}

/** A secondary may restart once more while it settles into its role; it is asked again until it has. */
const newRootToken = async (
  client: ApiClient,
  keys: readonly string[],
  what: string,
  { clock, timeoutMs, signal }: WireOptions,
): Promise<string> => {
  let token = ''
  const generate = async () => {
    token = await generateRoot(client, keys)
    return undefined
  }
  await waitFor(clock, `a root token, ${what}`, generate, timeoutMs, signal)
  return token
}

/**
 * Makes a topology of servers that run already: opens each and joins them. A record of an earlier run is used instead where
 * there is one: its clusters are only unsealed again, and wait until they are replicated.
 */
export const wireClusters = async (
  topology: Topology,
  addresses: ReadonlyMap<string, string>,
  known: WiredClusters | undefined,
  options: WireOptions,
): Promise<WiredClusters> => {
  if (known) return reopen(topology, known, options)
  const fresh = topology.clusters.map((name) => {
    const apiAddress = addresses.get(name)
    if (!apiAddress)
      throw new LabError(
        'usage',
        `the topology ${topology.name} has a cluster ${name}: say where it is with ${name}=URL`,
      )
    return { name, apiAddress, rootToken: '', unsealKeys: [], threshold: 0 }
  })
  await Promise.all(fresh.map((cluster) => requireNew(cluster, options)))
  const open = await Promise.all(fresh.map((cluster) => openCluster(cluster, options)))
  return { topology: topology.name, clusters: await joinClusters(open, topology.links, options) }
}

/** Asked of all before the first is initialised: the keys of one that was would be lost with a failure of another. */
const requireNew = async (cluster: ClusterAccess, { clock, timeoutMs, signal }: WireOptions): Promise<void> => {
  const client = clientOf(cluster)
  try {
    await waitForAnswer(clock, client, cluster.name, timeoutMs, signal)
    const { initialized } = await client.read('sys/init')
    if (initialized !== true) return
  } finally {
    client.close()
  }
  throw new LabError(
    'remote',
    `cluster ${cluster.name} at ${cluster.apiAddress} is initialised already, and its keys are not known here: give --keep with the file of the run that did it, or a server without data`,
  )
}

const reopen = async (topology: Topology, known: WiredClusters, options: WireOptions): Promise<WiredClusters> => {
  const { clock, timeoutMs, onProgress } = options
  const clients = new Map<string, ApiClient>()
  for (const cluster of known.clusters) {
    const client = clientOf({ ...cluster, rootToken: '' })
    clients.set(cluster.name, client)
    await waitForAnswer(clock, client, cluster.name, timeoutMs)
    const { sealed } = await client.read('sys/seal-status')
    if (sealed === true) await unseal(client, cluster.unsealKeys.slice(0, cluster.threshold))
    onProgress(`cluster ${cluster.name} is open again at ${cluster.apiAddress}`)
  }
  for (const { kind, primary, secondary } of topology.links) {
    const [above, below] = [clients.get(primary), clients.get(secondary)]
    if (!above || !below) continue
    await waitFor(clock, `${secondary} to follow ${primary} (${kind})`, () => findLag(above, below, kind), timeoutMs)
  }
  for (const client of clients.values()) client.close()
  return known
}

/**
 * Issues an activation token and uses it; a primary that is still restarting is asked again. What an earlier try left is
 * taken into account: it may have joined although its answer never came, or failed after it had taken the id.
 */
export const joinSecondary = async (above: ApiClient, below: ApiClient, link: Link): Promise<string | undefined> => {
  const { mode } = await statusOf(below, link.kind)
  if (mode === 'secondary' || mode === 'bootstrapping') return undefined
  const id = secondaryIdOf(link)
  const { known_secondaries: known } = await statusOf(above, link.kind)
  if (Array.isArray(known) && known.includes(id)) {
    await above.write(`sys/replication/${link.kind}/primary/revoke-secondary`, { id })
  }
  await enableSecondary(below, link.kind, await secondaryToken(above, link.kind, id))
  return undefined
}
