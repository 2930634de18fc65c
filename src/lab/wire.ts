import type { Clock } from '../base/clock.js'
import type { ApiClient } from '../client/api-client.js'
import { type ClusterAccess, type ClusterKeys, clientOf } from './cluster.js'
import type { Kind } from './kinds.js'
import { LabError } from './lab-error.js'
import {
  enablePrimary,
  enableSecondary,
  findLag,
  generateRoot,
  initialise,
  secondaryToken,
  statusOf,
  waitForAnswer,
} from './replication.js'
import type { Link } from './topology.js'
import { waitFor } from './wait.js'

/** How servers that run already, wherever they run, are opened and joined. */
export interface WireOptions {
  readonly shares: number
  readonly threshold: number
  /** Bound on each wait. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly onProgress: (text: string) => void
  /** Told of the keys of each cluster that is initialised, before anything else can fail. */
  readonly onKeys?: ((cluster: ClusterAccess) => void) | undefined
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
  const onSeal = (keys: ClusterKeys) => options.onKeys?.({ ...cluster, ...keys })
  const seal = await initialise(client, options.shares, options.threshold, onSeal)
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
    if (!enabled.has(role)) await ensurePrimary(primary, link.kind)
    enabled.add(role)
    byName.set(link.secondary, await connect(primary, get(link.secondary), link, options))
  }
  return clusters.map(({ name }) => get(name))
}

/** What an earlier try made a primary already is one. */
const ensurePrimary = async (cluster: ClusterAccess, kind: Kind): Promise<void> => {
  const client = clientOf(cluster)
  try {
    if ((await statusOf(client, kind)).mode !== 'primary') await enablePrimary(client, kind)
  } finally {
    client.close()
  }
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
