import { readNamedText } from '../../base/named-file.js'
import { inStep } from '../../base/progress.js'
import { type ApiClient, ApiError } from '../../client/api-client.js'
import { type ClusterAccess, type ClusterKeys, withAnonymousClient, withClient } from '../model/cluster.js'
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
  initialize,
  initializeAuto,
  REPLICATION,
  secondaryToken,
  waitForAnswer,
} from '../requests/replication.js'
import { isFollower } from '../requests/replication-status.js'
import type { ClusterPlan, Link, MountSeed, Seed, Topology } from '../model/topology.js'
import { waitFor, type WaitOptions } from '../requests/wait.js'

/** Options for unsealing and joining running servers. */
export interface WireOptions extends WaitOptions {
  readonly shares: number
  readonly threshold: number
  /** Plans of some clusters. The seal of a plan overrides shares and threshold. */
  readonly plans?: Readonly<Record<string, ClusterPlan>> | undefined
  /** Called with the keys of each initialized cluster, before any other step can fail. */
  readonly onKeys?: ((cluster: ClusterAccess) => void) | undefined
}

/** Waits for a new server, initializes and unseals it. */
export const openCluster = async <T extends ClusterAccess>(cluster: T, options: WireOptions): Promise<T> => {
  const onSeal = (keys: ClusterKeys) => options.onKeys?.({ ...cluster, ...keys })
  const { type, shares, threshold } = options.plans?.[cluster.name]?.seal ?? { ...options, type: 'shamir' }
  const open = (client: ApiClient) => (type === 'auto' ? initializeAuto : initialize)(client, shares, threshold, onSeal)
  const seal = await inStep(
    `initialize and unseal cluster ${cluster.name}`,
    () =>
      withClient(cluster, async (client) => {
        await waitForAnswer(options.clock, client, cluster.name, options.timeoutMs, options.signal)
        return open(client)
      }),
    describeOpen(cluster),
  )
  return { ...cluster, ...seal }
}

export const describeOpen = ({ name, apiAddress }: ClusterAccess): string =>
  `cluster ${name} is unsealed at ${apiAddress}`

/** Joins unsealed clusters to a topology. Writes the seed data of each cluster as early as possible. */
export const makeTopology = async <T extends ClusterOfNodes>(
  open: readonly T[],
  { links, plans = {} }: Topology,
  options: WireOptions,
): Promise<T[]> => {
  const follows = (name: string) => links.some(({ secondary }) => secondary === name)
  const seed = async (clusters: readonly T[]) => {
    for (const cluster of clusters) {
      const { seed: wanted } = plans[cluster.name] ?? {}
      if (!wanted) continue
      await inStep(
        `write the seed data of cluster ${cluster.name}`,
        async () => withClient(await atReachableNode(cluster), (client) => seedCluster(client, wanted)),
        `cluster ${cluster.name} has its seed data`,
      )
    }
  }
  await seed(open.filter(({ name }) => !follows(name)))
  const joined = await joinClusters(open, links, options)
  await seed(joined.filter(({ name }) => follows(name)))
  return joined
}

/** Creates a root token with this value on every cluster that serves clients. Returns the clusters with this token. */
export const giveRootToken = async <T extends ClusterAccess>(
  clusters: readonly T[],
  token: string | undefined,
): Promise<T[]> => {
  const made: T[] = []
  for (const cluster of clusters) {
    const isGiven = token !== undefined && cluster.rootToken !== ''
    const body = { id: token, policies: ['root'], no_parent: true }
    if (isGiven) await withClient(cluster, (client) => client.write('auth/token/create', body))
    made.push(isGiven ? { ...cluster, rootToken: token } : cluster)
  }
  return made
}

/** Creates the links in order. A secondary gets the shares of its primary, and its old root token becomes invalid. */
export const joinClusters = async <T extends ClusterOfNodes>(
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
  { clock, timeoutMs, signal }: WireOptions,
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
  options: WireOptions,
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

/** Writes the seed data of a cluster. Fails if any of it exists, except data received from its primary. */
const seedCluster = async (client: ApiClient, seed: Seed): Promise<void> => {
  const { mounts = {}, policies = {}, approle = {}, secrets = {} } = seed
  for (const [path, mount] of Object.entries(mounts)) {
    const { type = 'kv', version = 2, local = false, description = '' } = mount ?? {}
    const options = type === 'kv' ? { options: { version: String(version) } } : {}
    await client.write(`sys/mounts/${trim(path)}`, { type, local, description, ...options })
  }
  for (const [name, policy] of Object.entries(policies)) await client.write(`sys/policies/acl/${name}`, { policy })
  if (Object.keys(approle).length > 0) await seedRoles(client, approle)
  if (Object.keys(secrets).length > 0) await seedSecrets(client, mounts, secrets)
}

const seedRoles = async (client: ApiClient, roles: NonNullable<Seed['approle']>): Promise<void> => {
  const enabled = (await client.read('sys/auth')).data as Record<string, unknown> | undefined
  if (enabled?.['approle/'] === undefined) await client.write('sys/auth/approle', { type: 'approle' })
  for (const [name, fields] of Object.entries(roles)) {
    const { role_id: roleId, ...rest } = fields ?? {}
    await client.write(`auth/approle/role/${name}`, rest)
    if (roleId !== undefined) await client.write(`auth/approle/role/${name}/role-id`, { role_id: roleId })
  }
}

const seedSecrets = async (
  client: ApiClient,
  seeded: Readonly<Record<string, MountSeed | null>>,
  secrets: NonNullable<Seed['secrets']>,
): Promise<void> => {
  const there = ((await client.read('sys/mounts')).data ?? {}) as Record<
    string,
    { options?: { version?: string } | null }
  >
  const paths = [...Object.keys(seeded).map((path) => `${trim(path)}/`), ...Object.keys(there)]
  for (const [path, fields] of Object.entries(secrets)) {
    // The longest matching mount wins, as in the server.
    const mount = paths.filter((one) => path.startsWith(one)).sort((one, other) => other.length - one.length)[0] ?? ''
    const isVersioned = there[mount]?.options?.version === '2'
    if (isVersioned) await client.write(`${mount}data/${path.slice(mount.length)}`, { data: fields })
    else await client.write(path, fields)
  }
}

const trim = (path: string): string => path.replace(/\/+$/, '')
