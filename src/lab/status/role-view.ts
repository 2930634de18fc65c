import type { ApiClient } from '../../client/api-client.js'
import { KINDS, type Kind } from '../kinds.js'
import { statusOf } from '../replication.js'
import type { RoleView } from './cluster-view.js'

type Status = Readonly<Record<string, unknown>>

/** The roles of a cluster in both kinds, as it tells them now; one that does not answer has the mode `-`. Never rejects. */
export const askRoles = async (client: ApiClient): Promise<Record<Kind, RoleView>> => {
  const [dr, performance] = await Promise.all(KINDS.map((kind) => statusOf(client, kind).catch((): Status => ({}))))
  return rolesOf(client, { dr: dr ?? {}, performance: performance ?? {} })
}

/** The same of statuses that were read already. A primary that names no address is asked where it is. */
export const rolesOf = async (
  client: ApiClient,
  statuses: Readonly<Record<Kind, Status>>,
): Promise<Record<Kind, RoleView>> => {
  const isAsked = KINDS.some((kind) => statuses[kind].mode === 'primary' && !statuses[kind].primary_cluster_addr)
  const own = isAsked ? await clusterAddressOf(client) : ''
  return { dr: roleOf('dr', statuses.dr, own), performance: roleOf('performance', statuses.performance, own) }
}

/** Where the others find the cluster; empty where it does not say. */
const clusterAddressOf = (client: ApiClient): Promise<string> =>
  client.send('GET', 'sys/leader').then(
    ({ json }) => String(json?.leader_cluster_address ?? ''),
    () => '',
  )

const roleOf = (kind: Kind, status: Status, own: string): RoleView => {
  const text = (key: string) => String(status[key] ?? '')
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
    lastWal: Number(mode === 'secondary' ? (status.last_remote_wal ?? 0) : (status.last_wal ?? 0)),
    lastKindWal: Number(status[`last_${kind}_wal`] ?? 0),
    // A primary names an address only where it was given one for its secondaries.
    primaryAddress: address === '' && mode === 'primary' ? own : address,
    secondaryId: text('secondary_id'),
    knownSecondaries: Array.isArray(status.known_secondaries) ? status.known_secondaries.map(String) : [],
    connectedSecondaries: connected.map((row) => String(row.node_id)),
    lastHeartbeat: mode === 'secondary' ? String(heard.last_heartbeat ?? '') : '',
    // One that was detached knows no address.
    isAhead: text('connection_state') === 'shutdown' && rowsOf(status.known_primary_cluster_addrs).length > 0,
    ageMs: Number(heard.replication_primary_canary_age_ms ?? 0),
  }
}

const rowsOf = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? (value as Record<string, unknown>[]) : []
