import { textOfJson } from '../../../base/json-print.js'
import type { ApiClient } from '../../../client/api-client.js'
import type { LiveLab } from '../../live/live-lab.js'
import { withAnonymousClient } from '../../model/cluster.js'
import { KINDS, type Kind } from '../../model/kinds.js'
import { LabError } from '../../model/lab-error.js'
import { countOf, modeOf, type Status, statusOf } from '../../requests/replication.js'
import { findPrimary, type RoleHolder } from '../../status/links.js'
import { askNode, type NodeView } from '../../status/node-view.js'
import { askRoles, rolesOf } from '../../status/role-view.js'
import type { Picture, PictureCluster, PictureRole } from './result.js'

/** The state that a cluster reported. Null if it did not respond in time. */
export interface StatusSample {
  readonly name: string
  /** The status of `sys/health`. */
  readonly health: number | null
  /** The version that the server reports. */
  readonly version: string | undefined
  readonly statuses: Readonly<Record<Kind, Status>> | null
  readonly roles: Pick<RoleHolder, Kind> | null
}

const ANSWER_MS = 1000

/** Queries all clusters concurrently, with a timeout of 1 second by default. */
export class StatusCollector {
  readonly #clients: readonly { readonly name: string; readonly client: ApiClient }[]

  constructor(lab: LiveLab, timeoutMs = ANSWER_MS) {
    this.#clients = lab.clusters.map(({ name }) => ({ name, client: lab.anonymous(name).with({ timeoutMs }) }))
  }

  collect(): Promise<StatusSample[]> {
    return Promise.all(
      this.#clients.map(async ({ name, client }) => {
        const [health, statuses] = await Promise.all([
          client.send('GET', 'sys/health').catch(() => undefined),
          client.read('sys/replication/status').then(
            ({ data }) => data as Record<Kind, Status>,
            () => null,
          ),
        ])
        const version = typeof health?.json?.version === 'string' ? health.json.version : undefined
        return {
          name,
          health: health?.status ?? null,
          version,
          statuses,
          roles: statuses && (await rolesOf(client, statuses)),
        }
      }),
    )
  }

  close(): void {
    for (const { client } of this.#clients) client.close()
  }
}

/** Queries all clusters once, with a timeout of 5 seconds. A stopped cluster refuses the connection immediately. */
export const collectOnce = async (lab: LiveLab): Promise<StatusSample[]> => {
  const collector = new StatusCollector(lab, 5000)
  try {
    return await collector.collect()
  } finally {
    collector.close()
  }
}

export const toPicture = (atMs: number, samples: readonly StatusSample[]): Picture => ({
  atMs,
  clusters: samples.map(toCluster),
  links: linksOf(samples).map(({ kind, primary, secondary }) => ({
    kind,
    primary: primary.name,
    secondary: secondary.name,
    isConnected: secondary.statuses[kind].connection_state === 'ready',
  })),
})

const toCluster = ({ name, health, statuses }: StatusSample): PictureCluster => ({
  name,
  health,
  dr: toRole(statuses?.dr),
  performance: toRole(statuses?.performance),
})

const toRole = (status: Status | undefined): PictureRole => {
  if (!status) return { mode: 'unknown', state: '', connectionState: '', merkleRoot: '', lastWal: null }
  const text = (key: string) => textOfJson(status[key] ?? '')
  const last = status[status.mode === 'secondary' ? 'last_remote_wal' : 'last_wal']
  return {
    mode: text('mode') || 'disabled',
    state: text('state'),
    connectionState: text('connection_state'),
    merkleRoot: text('merkle_root'),
    lastWal: last === undefined ? null : countOf(last),
  }
}

interface FoundLink<T> {
  readonly kind: Kind
  readonly primary: T
  readonly secondary: T
}

/** Returns each secondary with the primary that it replicates from now, independent of the topology at the start. */
export const replicationLinks = <T extends RoleHolder>(clusters: readonly T[], kinds = KINDS): FoundLink<T>[] =>
  kinds.flatMap((kind) =>
    clusters.flatMap((secondary) => {
      const primary = secondary[kind].mode === 'secondary' ? findPrimary(secondary, clusters, kind) : undefined
      return primary ? [{ kind, primary, secondary }] : []
    }),
  )

export const linksOf = (samples: readonly StatusSample[]) =>
  replicationLinks(
    samples.flatMap(({ name, statuses, roles }) => (statuses && roles ? [{ name, statuses, ...roles }] : [])),
  )

/** Returns the lag in entries by link, such as `A>B dr`. Links with an unresponsive end are absent. */
export const lagsOf = (samples: readonly StatusSample[]): Record<string, number> =>
  Object.fromEntries(
    linksOf(samples).map(({ kind, primary, secondary }) => [
      `${primary.name}>${secondary.name} ${kind}`,
      lagOf(primary.statuses[kind], secondary.statuses[kind], kind),
    ]),
  )

/** Returns the number of entries of the primary that the secondary does not have yet. */
export const lagOf = (primary: Status, secondary: Status, kind: Kind): number =>
  Math.max(0, countOf(primary[`last_${kind}_wal`] ?? primary.last_wal) - countOf(secondary.last_remote_wal))

/** Rejects if a cluster does not respond, or if the two are not primary and secondary of one set. */
export const lagBetween = async (lab: LiveLab, primary: string, secondary: string, kind: Kind): Promise<number> => {
  const [ours = {}, theirs = {}] = await Promise.all(
    [primary, secondary].map((name) => statusOf(lab.anonymous(name), kind)),
  )
  if (ours.mode === 'primary' && theirs.mode === 'secondary') return lagOf(ours, theirs, kind)
  const roles = `${primary} is ${modeOf(ours)} and ${secondary} is ${modeOf(theirs)}`
  throw new LabError('remote', `${roles}: there is no lag between them`)
}

/** Returns the current roles of all clusters of the lab. */
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
