import { textOfJson, textsOfJson } from '../../base/json-print.js'
import type { Kind } from '../model/kinds.js'

/** A response of `sys/replication/<kind>/status`. */
export type Status = Readonly<Record<string, unknown>>

/** The state of a cluster in one kind of replication, as the cluster reports it. */
export interface ReplicationStatus {
  /** `primary`, `secondary`, `bootstrapping` or `disabled`. `-` if the cluster does not report it. */
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
  /** Secondary: the cluster address of the primary that sent the last message. Empty otherwise. */
  readonly heardAddress: string
  /** Secondary: time of the last message from its primary, RFC 3339. Empty otherwise. */
  readonly lastHeartbeat: string
  /** Secondary: whether it has data that its primary lost, and does not replicate until an operator decides. */
  readonly isAhead?: boolean | undefined
  /** Secondary: the age of its data in milliseconds. */
  readonly ageMs: number
}

export type ReplicationStatuses = Readonly<Record<Kind, ReplicationStatus>>

/** Parses a status. Invalid and missing values become empty or 0. */
export const parseStatus = (kind: Kind, status: Status): ReplicationStatus => {
  const text = (key: string) => textOfJson(status[key] ?? '')
  const mode = typeof status.mode === 'string' && status.mode !== '' ? status.mode : '-'
  const isSecondary = mode === 'secondary'
  const [heard = {}] = rowsOf(status.primaries)
  const connected = rowsOf(status.secondaries).filter((row) => row.connection_status === 'connected')
  return {
    mode,
    state: text('state'),
    connectionState: isSecondary ? text('connection_state') : '',
    clusterId: text('cluster_id'),
    merkleRoot: text('merkle_root'),
    lastWal: countOf(isSecondary ? status.last_remote_wal : status.last_wal),
    lastKindWal: countOf(status[`last_${kind}_wal`] ?? (mode === 'primary' ? status.last_wal : 0)),
    primaryAddress: text('primary_cluster_addr'),
    secondaryId: text('secondary_id'),
    knownSecondaries: textsOfJson(status.known_secondaries),
    connectedSecondaries: connected.map((row) => textOfJson(row.node_id)),
    heardAddress: isSecondary ? textOfJson(heard.cluster_address ?? '') : '',
    lastHeartbeat: isSecondary ? timeOf(heard.last_heartbeat) : '',
    // A detached secondary also reports `shutdown`, but knows no address. During a promotion, the data is not `idle`.
    isAhead:
      text('connection_state') === 'shutdown' &&
      text('state') === 'idle' &&
      textsOfJson(status.known_primary_cluster_addrs).length > 0,
    ageMs: countOf(heard.replication_primary_canary_age_ms),
  }
}

/** Returns the cluster addresses of a primary's secondaries, connected or not. */
export const addressesOfSecondaries = (status: Status): readonly string[] =>
  rowsOf(status.secondaries).map((row) => textOfJson(row.cluster_address))

const rowsOf = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter((row) => typeof row === 'object' && row !== null) : []

/** Parses a count, which the API reports as a number or as text. Returns 0 for any other value. */
export const countOf = (value: unknown): number => {
  const count = typeof value === 'string' ? Number(value) : value
  return typeof count === 'number' && Number.isFinite(count) && count >= 0 ? count : 0
}

/** Returns the value if it is a time. Otherwise, returns an empty string. */
const timeOf = (value: unknown): string =>
  typeof value === 'string' && Number.isFinite(Date.parse(value)) ? value : ''

/** The status of a cluster that does not respond. */
export const NO_STATUS: ReplicationStatus = parseStatus('dr', {})

const DISABLED: Status = { mode: 'disabled' }

/** Parses a response of `sys/replication/status`. A missing kind is disabled. */
export const parseStatuses = ({ dr, performance }: Partial<Record<Kind, Status | null>>): ReplicationStatuses => ({
  dr: parseStatus('dr', dr ?? DISABLED),
  performance: parseStatus('performance', performance ?? DISABLED),
})

/** Returns the mode of a cluster for messages. */
export const describeMode = ({ mode }: ReplicationStatus): string => (mode === '-' ? 'unknown' : mode)

/** Whether a cluster is a secondary, or is becoming one. */
export const isFollower = ({ mode }: ReplicationStatus): boolean => mode === 'secondary' || mode === 'bootstrapping'

/** Whether a cluster is a secondary without a primary, such as a demoted primary. */
export const isDetached = ({ mode, primaryAddress }: ReplicationStatus): boolean =>
  mode === 'secondary' && primaryAddress === ''

/**
 * Whether a secondary follows no primary and waits for an operator. A secondary that is ahead of its primary still has
 * one.
 */
export const followsNone = (status: ReplicationStatus): boolean =>
  isDetached(status) && status.state === 'idle' && status.isAhead !== true

/** Whether a secondary is connected and streams. */
export const isStreaming = ({ mode, state, connectionState }: ReplicationStatus): boolean =>
  mode === 'secondary' && state === 'stream-wals' && connectionState === 'ready'

/** Returns the reason why a cluster does not stream. Undefined if it streams. */
export const findStreamProblem = (status: ReplicationStatus): string | undefined =>
  isStreaming(status) ? undefined : `its state is ${status.state}, ${status.connectionState}`

/** What an operator can do with a secondary that is ahead of its primary. */
export const AHEAD_FIXES = 'recover or reindex with "force" discards the extra entries; promote keeps them'

/** Whether the position of a secondary is in the log of a primary. In any other state, it may belong to another log. */
export const isPlaced = ({ mode, state }: ReplicationStatus): boolean => mode === 'secondary' && state === 'stream-wals'

/**
 * Returns the number of log entries of the primary that the secondary does not have yet. Null if the position of the
 * secondary may belong to another log: if the secondary compares its data with the primary, is ahead of the primary, or
 * last followed another primary.
 */
export const lagOf = (primary: ReplicationStatus, secondary: ReplicationStatus): number | null => {
  const { connectionState, primaryAddress, heardAddress } = secondary
  const isFollowing = connectionState === 'ready' || primaryAddress === primary.primaryAddress
  // A primary without a configured address reports none.
  const isUnknown = heardAddress === '' || primary.primaryAddress === ''
  const isSameLog = isFollowing || isUnknown || heardAddress === primary.primaryAddress
  return isPlaced(secondary) && isSameLog ? Math.max(0, primary.lastKindWal - secondary.lastWal) : null
}

/** Whether a secondary has all log entries that its primary had when the status of the primary was read. */
export const hasAll = (secondary: ReplicationStatus, primary: ReplicationStatus): boolean =>
  primary.mode === 'primary' && lagOf(primary, secondary) === 0
