import { readNamedText } from '../../base/named-file.js'
import { inStep } from '../../base/progress.js'
import { type ApiClient, ApiError } from '../../client/api-client.js'
import { withAnonymousClient, withClient } from '../model/cluster.js'
import type { Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { atReachableNode, type ClusterOfNodes } from '../nodes/nodes.js'
import { filterPath } from '../requests/filters.js'
import {
  askStatus,
  enablePrimary,
  enableSecondary,
  encryptedToken,
  findLag,
  generateRoot,
  idOf,
  REPLICATION,
  secondaryToken,
} from '../requests/replication.js'
import { isFollower } from '../requests/replication-status.js'
import type { Link } from '../model/topology.js'
import { waitFor, type WaitOptions } from '../requests/wait.js'

/** Creates the links in order. A secondary gets the shares of its primary, and its old root token becomes invalid. */
export const joinClusters = async <T extends ClusterOfNodes>(
  clusters: readonly T[],
  links: readonly Link[],
  options: WaitOptions,
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
    if (!enabled.has(role)) await ensurePrimary(primary, link.kind, options)
    enabled.add(role)
    const { kind, secondary } = link
    const joined = await inStep(
      `make cluster ${secondary} a ${kind} secondary of ${link.primary}`,
      () => connect(primary, get(secondary), link, options),
      `cluster ${secondary} is a ${kind} secondary of ${link.primary} and replicated`,
    )
    byName.set(secondary, joined)
  }
  return clusters.map(({ name }) => get(name))
}

/**
 * Makes a cluster a primary, unless an earlier attempt has done so. Waits until a node of the cluster serves requests.
 * Rejects with ApiError if the cluster rejects the request.
 */
const ensurePrimary = async (
  cluster: ClusterOfNodes,
  kind: Kind,
  { clock, timeoutMs, signal }: WaitOptions,
): Promise<void> => {
  let refusal: ApiError | undefined
  const enable = async (client: ApiClient) => {
    if ((await askStatus(client, kind)).mode !== 'primary') await enablePrimary(client, kind)
  }
  const fact = async () => {
    await withClient(await atReachableNode(cluster), enable).catch((error: unknown) => {
      if (!(error instanceof ApiError && error.status < 500)) throw error
      refusal = error
    })
    return undefined
  }
  await waitFor(clock, `${cluster.name} to be a ${kind} primary`, fact, timeoutMs, signal)
  if (refusal) throw refusal
}

interface Pair {
  readonly primary: ClusterOfNodes
  readonly secondary: ClusterOfNodes
  readonly kind: Kind
}

/** A condition of the two clusters of a link, as for `waitFor`. */
type PairFact = (above: ApiClient, below: ApiClient) => Promise<string | undefined>

/**
 * Waits for a condition of both clusters of a link. Finds the active nodes again for each attempt: another node may become
 * active, and standbys are sealed by a join. Requests to the primary use its root token.
 */
export const waitForPair = (
  { primary, secondary, kind }: Pair,
  { clock, timeoutMs, signal }: WaitOptions,
  fact: PairFact,
  withBelow: typeof withAnonymousClient<string | undefined> = withAnonymousClient,
): Promise<void> => {
  const ask = async () => {
    const [from, to] = await Promise.all([atReachableNode(primary), atReachableNode(secondary)])
    return withClient(from, (above) => withBelow(to, (below) => fact(above, below)))
  }
  return waitFor(clock, `${secondary.name} to follow ${primary.name} (${kind})`, ask, timeoutMs, signal)
}

const connect = async <T extends ClusterOfNodes>(
  primary: ClusterOfNodes,
  secondary: T,
  link: Link,
  options: WaitOptions,
): Promise<T> => {
  const { clock, timeoutMs, signal } = options
  const caPem = primary.caFile === undefined ? undefined : readNamedText(primary.caFile)
  const ends = { primary, secondary, kind: link.kind }
  const join: PairFact = (above, below) => joinSecondary(above, below, link, caPem)
  await waitForPair(ends, options, join, withClient)
  await waitForPair(ends, options, (above, below) => findLag(above, below, link.kind))
  const { unsealKeys, threshold } = primary
  let rootToken = ''
  const generate = async () => {
    const shares = unsealKeys.slice(0, threshold)
    rootToken = await withAnonymousClient(await atReachableNode(secondary), (client) => generateRoot(client, shares))
    return undefined
  }
  // Repeated, because a secondary may restart again during its role change.
  if (link.kind !== 'dr') await waitFor(clock, `a root token on ${secondary.name}`, generate, timeoutMs, signal)
  return { ...secondary, rootToken, unsealKeys, threshold }
}

/**
 * Issues an activation token and uses it. Retries while the primary restarts. Handles results of earlier attempts: the
 * secondary may have joined without a response, or may have failed after its ID was registered.
 */
export const joinSecondary = async (
  above: ApiClient,
  below: ApiClient,
  link: Link,
  caPem?: string,
): Promise<string | undefined> => {
  const { kind, filter, activation } = link
  if (isFollower(await askStatus(below, kind))) return undefined
  const id = idOf(kind, link.secondary)
  if ((await askStatus(above, kind)).knownSecondaries.includes(id))
    await above.write(`${REPLICATION}/${kind}/primary/revoke-secondary`, { id })
  if (filter) await above.write(filterPath(id), filter)
  const make = activation === 'public-key' ? encryptedToken(above, below, kind, id) : secondaryToken(above, kind, id)
  await enableSecondary(below, kind, await make, caPem)
  return undefined
}
