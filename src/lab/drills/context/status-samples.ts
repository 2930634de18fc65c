import type { ApiClient } from '../../../client/api-client.js'
import type { LiveLab } from '../../live/live-lab.js'
import { withAnonymousClient } from '../../model/cluster.js'
import { KINDS, type Kind } from '../../model/kinds.js'
import { LabError } from '../../model/lab-error.js'
import type { RoleHolder } from '../../requests/find-primary.js'
import { askRoles, askStatus, withOwnAddress } from '../../requests/replication.js'
import {
  describeMode,
  lagOf,
  parseStatuses,
  type ReplicationStatus,
  type ReplicationStatuses,
  type Status,
} from '../../requests/replication-status.js'
import { findLinks } from '../../status/links.js'
import { askNode, type NodeView } from '../../status/node-view.js'
import { ANSWER_MS } from '../../status/observe.js'
import type { ObservedLab, ObservedRole } from './result.js'

/** The state of a cluster at one time. A value is null if the cluster did not respond in time. */
export interface StatusSample {
  readonly name: string
  /** The status of `sys/health`. */
  readonly health: number | null
  readonly version: string | undefined
  readonly roles: ReplicationStatuses | null
}

/** Queries all clusters concurrently, and keeps its connections for the next query. `timeoutMs`: of each request. */
export class StatusCollector {
  readonly #clients: readonly { readonly name: string; readonly client: ApiClient }[]

  constructor(lab: LiveLab, timeoutMs = ANSWER_MS) {
    this.#clients = lab.clusters.map(({ name }) => ({ name, client: lab.anonymous(name).with({ timeoutMs }) }))
  }

  collect(): Promise<StatusSample[]> {
    return Promise.all(
      this.#clients.map(async ({ name, client }) => {
        const [health, roles] = await Promise.all([
          client.send('GET', 'sys/health').catch(() => undefined),
          client.read('sys/replication/status').then(
            ({ data }) => withOwnAddress(client, parseStatuses((data ?? {}) as Record<Kind, Status>)),
            () => null,
          ),
        ])
        const version = typeof health?.json?.version === 'string' ? health.json.version : undefined
        return { name, health: health?.status ?? null, version, roles }
      }),
    )
  }

  close(): void {
    for (const { client } of this.#clients) client.close()
  }
}

/** Queries all clusters once. The timeout of 5 seconds allows for a busy machine: stopped clusters fail immediately. */
export const collectOnce = async (lab: LiveLab): Promise<StatusSample[]> => {
  const collector = new StatusCollector(lab, 5000)
  try {
    return await collector.collect()
  } finally {
    collector.close()
  }
}

export const toObservedLab = (atMs: number, samples: readonly StatusSample[]): ObservedLab => ({
  atMs,
  clusters: samples.map(({ name, health, roles }) => ({
    name,
    health,
    dr: toRole(roles?.dr),
    performance: toRole(roles?.performance),
  })),
  links: linksOf(samples).map(({ kind, primary, secondary, connectionState }) => ({
    kind,
    primary,
    secondary,
    isConnected: connectionState === 'ready',
  })),
})

const toRole = (status: ReplicationStatus | undefined): ObservedRole => {
  if (!status) return { mode: 'unknown', state: '', connectionState: '', merkleRoot: '', lastWal: null }
  const { mode, state, connectionState, merkleRoot, lastWal } = status
  const hasLog = mode === 'primary' || mode === 'secondary'
  return { mode, state, connectionState, merkleRoot, lastWal: hasLog ? lastWal : null }
}

/** Returns the clusters that accept writes: they serve clients, and are not secondaries. */
export const writableClusters = (samples: readonly StatusSample[]): readonly string[] =>
  samples
    .filter(({ health, roles }) => health === 200 && roles && KINDS.every((kind) => roles[kind].mode !== 'secondary'))
    .map(({ name }) => name)

/** Returns the current links of secondaries that have a primary in the lab and a complete first copy. */
export const replicationLinks = (clusters: readonly RoleHolder[]) =>
  findLinks(clusters, [], 0).flatMap(({ primary, ...link }) =>
    primary === null || link.state === 'bootstrapping' ? [] : [{ ...link, primary }],
  )

export const linksOf = (samples: readonly StatusSample[]) =>
  replicationLinks(samples.flatMap(({ name, roles }) => (roles ? [{ name, ...roles }] : [])))

/** Returns the lag in entries by link, such as `A>B dr`. Links without a known lag are absent. */
export const lagsOf = (samples: readonly StatusSample[]): Record<string, number> =>
  Object.fromEntries(
    linksOf(samples).flatMap(({ kind, primary, secondary, lagEntries }) =>
      lagEntries === null ? [] : [[`${primary}>${secondary} ${kind}`, lagEntries] as const],
    ),
  )

/**
 * Returns the number of entries that a secondary lacks. Rejects if a cluster does not respond or has another role, or
 * if the secondary has no position in the log of the primary.
 */
export const lagBetween = async (lab: LiveLab, primary: string, secondary: string, kind: Kind): Promise<number> => {
  const [ours, theirs] = await Promise.all([
    askStatus(lab.anonymous(primary), kind),
    askStatus(lab.anonymous(secondary), kind),
  ])
  const lag = ours.mode === 'primary' ? lagOf(ours, theirs) : null
  if (lag !== null) return lag
  const roles = `${primary} is ${describeMode(ours)} and ${secondary} is ${describeMode(theirs)}`
  const state = theirs.mode === 'secondary' ? ` in state ${theirs.state}` : ''
  throw new LabError('remote', `${roles}${state}: there is no lag between them`)
}

export const rolesNow = (lab: LiveLab): Promise<readonly RoleHolder[]> =>
  Promise.all(lab.clusters.map(async ({ name }) => ({ name, ...(await askRoles(lab.anonymous(name))) })))

/** Returns the current state of a cluster's nodes, `A1` first. Empty if the cluster has a single server. */
export const viewNodes = (lab: LiveLab, name: string): Promise<NodeView[]> => {
  const cluster = lab.cluster(name)
  return Promise.all(
    (cluster.nodeAddresses ?? []).map((apiAddress, index) =>
      withAnonymousClient(
        { ...cluster, apiAddress },
        (client) => askNode({ name: `${name}${index + 1}`, apiAddress }, client),
        ANSWER_MS,
      ),
    ),
  )
}
