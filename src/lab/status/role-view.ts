import { textOfJson, textsOfJson } from '../../base/json-print.js'
import type { ApiClient } from '../../client/api-client.js'
import { KINDS, type Kind } from '../model/kinds.js'
import { countOf, type Status, statusOf } from '../requests/replication.js'

/** The state of a cluster in one kind of replication, as it reports it. */
export interface RoleView {
  readonly mode: string
  readonly state: string
  readonly connectionState: string
  /** The ID of the replication set. */
  readonly clusterId: string
  /** 40 hexadecimal digits. Empty if replication is disabled. */
  readonly merkleRoot: string
  /** Primary: end of its own log. Secondary: position in the log of its primary. */
  readonly lastWal: number
  /** Primary: the position that its secondaries of this kind must reach. */
  readonly lastKindWal: number
  /** The cluster address of the primary; on a primary, its own. Empty if there is none. */
  readonly primaryAddress: string
  /** Secondary: its ID at the primary. Empty otherwise. */
  readonly secondaryId: string
  /** Primary: IDs of its registered secondaries, connected or not. */
  readonly knownSecondaries: readonly string[]
  /** Primary: IDs of its connected secondaries. */
  readonly connectedSecondaries: readonly string[]
  /** Secondary: time of the last message from its primary, RFC 3339. Empty otherwise. */
  readonly lastHeartbeat: string
  /** Secondary: it has data that its primary lost, and does not replicate until an operator decides. */
  readonly isAhead?: boolean | undefined
  /** Secondary: the age of its data in milliseconds, as far as it knows. */
  readonly ageMs: number
}

/** Returns the current roles of a cluster in both kinds. Mode `-` if it does not respond. Never rejects. */
export const askRoles = async (client: ApiClient): Promise<Record<Kind, RoleView>> => {
  const [dr, performance] = await Promise.all(KINDS.map((kind) => statusOf(client, kind).catch((): Status => ({}))))
  return rolesOf(client, { dr: dr ?? {}, performance: performance ?? {} })
}

/** Returns the same from statuses that were already read. Queries the address of a primary that reports none. */
export const rolesOf = async (
  client: ApiClient,
  statuses: Readonly<Record<Kind, Status>>,
): Promise<Record<Kind, RoleView>> => {
  const isAsked = KINDS.some((kind) => statuses[kind].mode === 'primary' && !statuses[kind].primary_cluster_addr)
  const own = isAsked ? await clusterAddressOf(client) : ''
  return { dr: roleOf('dr', statuses.dr, own), performance: roleOf('performance', statuses.performance, own) }
}

/** Returns the advertised cluster address. Empty if the cluster reports none. */
const clusterAddressOf = (client: ApiClient): Promise<string> =>
  client.send('GET', 'sys/leader').then(
    ({ json }) => textOfJson(json?.leader_cluster_address ?? ''),
    () => '',
  )

const roleOf = (kind: Kind, status: Status, own: string): RoleView => {
  const text = (key: string) => textOfJson(status[key] ?? '')
  const mode = text('mode')
  const [heard = {}] = rowsOf(status.primaries)
  const connected = rowsOf(status.secondaries).filter((row) => row.connection_status === 'connected')
  const address = text('primary_cluster_addr')
  return {
    mode: mode === '' ? '-' : mode,
    state: text('state'),
    connectionState: mode === 'secondary' ? text('connection_state') : '',
    clusterId: text('cluster_id'),
    merkleRoot: text('merkle_root'),
    lastWal: countOf(mode === 'secondary' ? status.last_remote_wal : status.last_wal),
    lastKindWal: countOf(status[`last_${kind}_wal`]),
    // A primary reports an address only if one was set for its secondaries.
    primaryAddress: address === '' && mode === 'primary' ? own : address,
    secondaryId: text('secondary_id'),
    knownSecondaries: textsOfJson(status.known_secondaries),
    connectedSecondaries: connected.map((row) => textOfJson(row.node_id)),
    lastHeartbeat: mode === 'secondary' ? timeOf(heard.last_heartbeat) : '',
    // A detached secondary has no primary address.
    isAhead: text('connection_state') === 'shutdown' && textsOfJson(status.known_primary_cluster_addrs).length > 0,
    ageMs: countOf(heard.replication_primary_canary_age_ms),
  }
}

const rowsOf = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter((row) => typeof row === 'object' && row !== null) : []

/** Returns an empty string unless the value is a time. */
const timeOf = (value: unknown): string =>
  typeof value === 'string' && Number.isFinite(Date.parse(value)) ? value : ''

/** The role of a cluster that reports none. */
export const NO_ROLE: RoleView = roleOf('dr', {}, '')
