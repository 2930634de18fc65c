import { type ApiClient, ApiError, errorsOf } from '../../client/api-client.js'
import { type ClusterAccess, type ClusterKeys, type LabAccess, withAnonymousClient } from '../model/cluster.js'
import type { Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { askStatus, generateRoot } from '../requests/replication.js'
import { isFollower } from '../requests/replication-status.js'

/** Settings for a client of one cluster. */
export interface ClientEnvironment {
  readonly cluster: string
  readonly address: string
  /** The CA file that verifies the server. Undefined without TLS, or if a public CA signed its certificate. */
  readonly caFile: string | undefined
  /** Undefined if the cluster accepts no token, for example as a DR secondary. */
  readonly token: string | undefined
  /** The reason why there is no token. */
  readonly note: string | undefined
}

export const ROLES = ['dr-primary', 'dr-secondary', 'performance-primary', 'performance-secondary'] as const
export type Role = (typeof ROLES)[number]

const TIMEOUT_MS = 2000

/** Key shares that together unseal a cluster. */
export type Shares = Pick<ClusterKeys, 'unsealKeys' | 'threshold'>

/** Returns the key shares to try on a cluster: its own, then those of clusters from which it may have replicated. */
export const sharesToTry = <T extends Shares>(own: T, others: Iterable<T>): T[] => {
  const sets = [own, ...others].filter(({ unsealKeys }) => unsealKeys.length > 0)
  const textOf = ({ unsealKeys }: T) => unsealKeys.join()
  return sets.filter((set, index) => index === sets.findIndex((earlier) => textOf(earlier) === textOf(set)))
}

/** Returns the root tokens to try on a cluster. A promoted cluster accepts the tokens of its former primary. */
export const tokensToTry = (own: Pick<ClusterKeys, 'rootToken'>, others: Iterable<typeof own>): string[] => {
  const tokens = [own, ...others].map(({ rootToken }) => rootToken)
  return [...new Set(tokens.filter((token) => token !== ''))]
}

/**
 * Throws LabError `remote` if the lab has neither tokens nor key shares, so that no request to a cluster can be
 * authorized.
 */
export const requireKeys = ({ clusters }: LabAccess, cluster: ClusterAccess): void => {
  if (tokensToTry(cluster, clusters).length === 0 && sharesToTry<Shares>(cluster, clusters).length === 0)
    throw new LabError('remote', noKeys(cluster))
}

const noKeys = ({ name }: Pick<ClusterAccess, 'name'>): string =>
  `the lab has no valid token and no valid keys for ${name}; if you attached the lab, run "understudy down", and attach it again with --keys FILE`

/**
 * Finds the first cluster that has this role now, independent of the topology. Rejects with LabError `remote` if there
 * is none.
 */
export const findByRole = async <T extends ClusterAccess>(
  lab: { readonly name: string; readonly clusters: readonly T[] },
  role: Role,
): Promise<T> => {
  const [kind, mode] = role.split('-') as [Kind, string]
  const modes = await Promise.all(lab.clusters.map((cluster) => modeOf(cluster, kind)))
  const found = lab.clusters[modes.indexOf(mode)]
  if (!found) throw new LabError('remote', `no cluster of the lab "${lab.name}" is a ${kind} ${mode} now`)
  return found
}

/**
 * Asks the cluster for its current role, because the valid tokens depend on the role. Tries the tokens of other
 * clusters, which may be valid after a failover, and then generates a token from the keys of the lab. `onToken`
 * receives a generated token. `node`: the node whose address is returned. The role still comes from `cluster`, because
 * the node may be partitioned from the active node. Rejects with ApiError if the cluster cannot respond, for example
 * while it restarts.
 */
export const environmentOf = async (
  lab: LabAccess,
  cluster: ClusterAccess,
  onToken: (token: string) => void,
  node?: Pick<ClusterAccess, 'name' | 'apiAddress'>,
): Promise<ClientEnvironment> => {
  const { name, caFile } = cluster
  const base = { cluster: name, address: (node ?? cluster).apiAddress, caFile, token: undefined, note: undefined }
  const askNode = (client: ApiClient) => findClosedReason(client, node?.name ?? name)
  const note = node && (await withAnonymousClient({ ...cluster, apiAddress: node.apiAddress }, askNode, TIMEOUT_MS))
  if (note !== undefined) return { ...base, note }
  const find = async (client: ApiClient): Promise<ClientEnvironment> => {
    const closed = await findClosedReason(client, name)
    if (closed !== undefined) return { ...base, note: closed }
    if (isFollower(await askStatus(client, 'dr')))
      return { ...base, note: `${name} is a DR secondary: it accepts no token until it is promoted` }
    let failure: ApiError | undefined
    for (const token of tokensToTry(cluster, lab.clusters)) {
      const path = 'auth/token/lookup-self'
      const answer = await client.send('GET', path, { token })
      if (answer.status === 200) return { ...base, token }
      if (answer.status >= 500) failure = new ApiError('GET', client.urlOf(path), answer.status, errorsOf(answer))
    }
    const token = await makeToken(client, lab, cluster)
    if (token === undefined && failure) throw failure
    if (token === undefined) return { ...base, note: noKeys(cluster) }
    onToken(token)
    return { ...base, token }
  }
  return withAnonymousClient(cluster, find, TIMEOUT_MS)
}

/** Returns the reason why a server serves no clients. Undefined if it is unsealed. */
const findClosedReason = async (client: ApiClient, name: string): Promise<string | undefined> => {
  const { json } = await client.send('GET', 'sys/health')
  if (json?.initialized !== true) return `${name} is not initialized`
  return json.sealed === true ? `${name} is sealed: it accepts no token until it is unsealed` : undefined
}

const modeOf = (cluster: ClusterAccess, kind: Kind): Promise<string> =>
  withAnonymousClient(cluster, (client) => askStatus(client, kind), TIMEOUT_MS).then(
    ({ mode }) => mode,
    () => 'unknown',
  )

/** Generates a root token from key shares of the lab. Undefined if the cluster rejects all of them. */
const makeToken = async (client: ApiClient, lab: LabAccess, cluster: ClusterAccess): Promise<string | undefined> => {
  for (const { unsealKeys, threshold } of sharesToTry(cluster, lab.clusters)) {
    try {
      return await generateRoot(client, unsealKeys.slice(0, threshold))
    } catch (error) {
      // The cluster rejects the shares of another cluster. The next shares may be valid.
      if (!(error instanceof ApiError && error.status < 500)) throw error
    }
  }
  return undefined
}
