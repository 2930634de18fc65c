import { countOf } from '../requests/replication.js'
import { textOfJson } from '../../base/json-print.js'
import type { ApiClient } from '../../client/api-client.js'
import type { Kind } from '../model/kinds.js'
import type { LiveLab } from '../live/live-lab.js'
import type { RoleView } from '../status/cluster-view.js'
import { findPrimary } from '../status/links.js'
import { rolesOf } from '../status/role-view.js'
import { lagOf } from './links-now.js'
import type { Picture, PictureCluster, PictureLink, PictureRole } from './result.js'

type Status = Readonly<Record<string, unknown>>

/** The state that a cluster reported. Null if it did not respond in time. */
export interface Testimony {
  readonly name: string
  readonly health: number | null
  readonly statuses: Readonly<Record<Kind, Status>> | null
  readonly roles: Readonly<Record<Kind, RoleView>> | null
}

const ANSWER_MS = 1000
export const KINDS: readonly Kind[] = ['dr', 'performance']

/** Queries all clusters concurrently, with a timeout of 1 second by default. */
export class Witness {
  readonly #clients: readonly { readonly name: string; readonly client: ApiClient }[]

  constructor(lab: LiveLab, timeoutMs = ANSWER_MS) {
    this.#clients = lab.clusters.map(({ name }) => ({
      name,
      client: lab.anonymous(name).with({ timeoutMs }),
    }))
  }

  ask(): Promise<Testimony[]> {
    return Promise.all(
      this.#clients.map(async ({ name, client }) => {
        const [health, status] = await Promise.all([
          client.send('GET', 'sys/health').then(
            (answer) => answer.status,
            () => null,
          ),
          client.read('sys/replication/status').then(
            ({ data }) => data as Record<Kind, Status>,
            () => null,
          ),
        ])
        return { name, health, statuses: status, roles: status && (await rolesOf(client, status)) }
      }),
    )
  }

  close(): void {
    for (const { client } of this.#clients) client.close()
  }
}

export const toPicture = (atMs: number, testimonies: readonly Testimony[]): Picture => ({
  atMs,
  clusters: testimonies.map(toCluster),
  links: linksOf(testimonies).map(({ kind, primary, secondary, theirs }) => ({
    kind,
    primary,
    secondary,
    isConnected: theirs.connection_state === 'ready',
  })),
})

const toCluster = ({ name, health, statuses }: Testimony): PictureCluster => ({
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

interface LinkNow extends Pick<PictureLink, 'kind' | 'primary' | 'secondary'> {
  readonly ours: Status
  readonly theirs: Status
}

/** Returns the secondaries with the primary that each replicates from now. */
export const linksOf = (testimonies: readonly Testimony[]): LinkNow[] => {
  const answered = testimonies.flatMap(({ name, statuses, roles }) =>
    statuses && roles ? [{ name, statuses, ...roles }] : [],
  )
  return KINDS.flatMap((kind) =>
    answered.flatMap((secondary) => {
      const primary = secondary[kind].mode === 'secondary' ? findPrimary(secondary, answered, kind) : undefined
      if (!primary) return []
      const [ours, theirs] = [primary.statuses[kind], secondary.statuses[kind]]
      return [{ kind, primary: primary.name, secondary: secondary.name, ours, theirs }]
    }),
  )
}

/** Returns the lag in entries by link, such as `A>B dr`. Links with an unresponsive end are absent. */
export const lagsOf = (testimonies: readonly Testimony[]): Record<string, number> =>
  Object.fromEntries(
    linksOf(testimonies).map(({ kind, primary, secondary, ours, theirs }) => [
      `${primary}>${secondary} ${kind}`,
      lagOf(ours, theirs, kind),
    ]),
  )
