import { inStep } from '../../base/progress.js'
import type { ApiClient } from '../../client/api-client.js'
import { type ClusterAccess, type ClusterKeys, withClient } from '../model/cluster.js'
import { atReachableNode, type ClusterOfNodes } from '../nodes/nodes.js'
import { initialize, initializeAuto, waitForAnswer } from '../requests/replication.js'
import type { ClusterPlan, MountSeed, Seed, Topology } from '../model/topology.js'
import type { WaitOptions } from '../requests/wait.js'
import { joinClusters } from './join.js'

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
