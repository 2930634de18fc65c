import { readNamedText } from '../../base/named-file.js'
import { inStep } from '../../base/progress.js'
import { remembered } from '../../base/remembered.js'
import { type ApiClient, ApiError } from '../../client/api-client.js'
import { anonymous, type ClientAccess, clientOf, withAnonymousClient, withClient } from '../model/cluster.js'
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
  findStreamLag,
  generateRoot,
  idOf,
  REPLICATION,
  secondaryToken,
} from '../requests/replication.js'
import { isFollower } from '../requests/replication-status.js'
import type { Link } from '../model/topology.js'
import { waitFor, type WaitOptions } from '../requests/wait.js'

/**
 * Creates the links. Links between different clusters are created at the same time, see `mustFollow`. After the first
 * error, the other links stop. A secondary gets the shares of its primary, and its old root token becomes invalid.
 */
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
  const failure = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, failure.signal]) : failure.signal
  const own = { ...options, signal }
  const roles = new Map<string, Promise<void>>()
  const joins: Promise<void>[] = []
  const join = async (link: Link, index: number): Promise<void> => {
    await Promise.all(joins.filter((_, before) => before < index && mustFollow(link, links[before])))
    const { kind, primary, secondary } = link
    const siblings = linksBetweenJoins(links, index)
    await remembered(roles, `${primary} ${links.indexOf(siblings[0] ?? link)}`, () =>
      ensurePrimaries(get(primary), [...new Set(siblings.map((sibling) => sibling.kind))], own),
    )
    const joined = await inStep(
      `make cluster ${secondary} a ${kind} secondary of ${primary}`,
      () => connect(get(primary), get(secondary), link, own),
      `cluster ${secondary} is a ${kind} secondary of ${primary} and replicated`,
    )
    byName.set(secondary, joined)
  }
  for (const [index, link] of links.entries()) joins.push(join(link, index))
  try {
    await Promise.all(joins)
  } catch (error) {
    failure.abort(error)
    throw error
  }
  return clusters.map(({ name }) => get(name))
}

/**
 * Whether a link waits for an earlier link. A join erases the data and the roles of its secondary, so it comes before
 * later links of this cluster, and after earlier links of which this cluster is the primary.
 */
const mustFollow = ({ primary, secondary }: Link, earlier: Link | undefined): boolean =>
  earlier !== undefined && ([primary, secondary].includes(earlier.secondary) || earlier.primary === secondary)

/** Returns the links of the same primary between two joins of this primary, which keep each other's roles. */
const linksBetweenJoins = (links: readonly Link[], index: number): readonly Link[] => {
  const primary = links[index]?.primary
  const joinsBefore = (end: number) => links.slice(0, end).filter(({ secondary }) => secondary === primary).length
  return links.filter((link, at) => link.primary === primary && joinsBefore(at) === joinsBefore(index))
}

/**
 * Makes a cluster a primary of all of these kinds before the first secondary joins, because each change restarts it.
 */
const ensurePrimaries = async (
  cluster: ClusterOfNodes,
  kinds: readonly Kind[],
  options: WaitOptions,
): Promise<void> => {
  for (const kind of kinds) await ensurePrimary(cluster, kind, options)
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

/**
 * Runs work that may use several clients. Reuses the client of an address and a token, and closes all of them
 * afterwards.
 */
const withClients = async <T>(work: (clientFor: (cluster: ClientAccess) => ApiClient) => Promise<T>): Promise<T> => {
  const clients = new Map<string, ApiClient>()
  const clientFor = (cluster: ClientAccess) =>
    remembered(clients, `${cluster.apiAddress} ${cluster.rootToken}`, () => clientOf(cluster))
  try {
    return await work(clientFor)
  } finally {
    for (const client of clients.values()) client.close()
  }
}

interface Pair {
  readonly primary: ClusterOfNodes
  readonly secondary: ClusterOfNodes
  readonly kind: Kind
}

/** A condition of the two clusters of a link, as for `waitFor`. */
type PairFact = (above: ApiClient, below: ApiClient) => Promise<string | undefined>

/**
 * Waits for a condition of both clusters of a link. Finds the active nodes again for each attempt: another node may
 * become active, and standbys are sealed by a join. Requests to the primary use its root token, and those to the
 * secondary use none unless `withToken` is true.
 */
export const waitForPair = (
  { primary, secondary, kind }: Pair,
  { clock, timeoutMs, signal }: WaitOptions,
  fact: PairFact,
  withToken = false,
): Promise<void> =>
  withClients((clientFor) => {
    const ask = async () => {
      const [from, to] = await Promise.all([atReachableNode(primary), atReachableNode(secondary)])
      return fact(clientFor(from), clientFor(withToken ? to : anonymous(to)))
    }
    return waitFor(clock, `${secondary.name} to follow ${primary.name} (${kind})`, ask, timeoutMs, signal)
  })

const connect = async <T extends ClusterOfNodes>(
  primary: ClusterOfNodes,
  secondary: T,
  link: Link,
  options: WaitOptions,
): Promise<T> => {
  const { clock, timeoutMs, signal } = options
  const caPem = primary.caFile === undefined ? undefined : readNamedText(primary.caFile)
  const ends = { primary, secondary, kind: link.kind }
  await waitForPair(ends, options, (above, below) => joinSecondary(above, below, link, caPem), true)
  await waitForPair(ends, options, (above, below) => findJoinLag(above, below, link.kind))
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

/** Returns why a secondary is not replicated. Asks the primary only once the secondary streams. */
const findJoinLag = async (above: ApiClient, below: ApiClient, kind: Kind): Promise<string | undefined> =>
  findStreamLag(await askStatus(below, kind)) ?? findLag(above, below, kind)

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
  const [theirs, ours] = await Promise.all([askStatus(below, kind), askStatus(above, kind)])
  if (isFollower(theirs)) return undefined
  const id = idOf(kind, link.secondary)
  if (ours.knownSecondaries.includes(id)) await above.write(`${REPLICATION}/${kind}/primary/revoke-secondary`, { id })
  if (filter) await above.write(filterPath(id), filter)
  const make = activation === 'public-key' ? encryptedToken(above, below, kind, id) : secondaryToken(above, kind, id)
  await enableSecondary(below, kind, await make, caPem)
  return undefined
}
