import type { NodeView } from './node-view.js'

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

/** The role of a cluster that reports none. */
export const NO_ROLE: RoleView = {
  mode: '-',
  state: '',
  connectionState: '',
  clusterId: '',
  merkleRoot: '',
  lastWal: 0,
  lastKindWal: 0,
  primaryAddress: '',
  secondaryId: '',
  knownSecondaries: [],
  connectedSecondaries: [],
  lastHeartbeat: '',
  ageMs: 0,
}

export type ProcessState = 'running' | 'paused' | 'stopped' | 'elsewhere'

/** A node of a multi-node cluster. */
export interface NodeRow extends NodeView {
  readonly process: ProcessState
  readonly pid: number | null
}

/** One cluster, as reported at its address: with several nodes, by the active one. */
export interface ClusterView {
  readonly name: string
  readonly apiAddress: string
  /** `elsewhere`: its process cannot be observed from this machine. */
  readonly process: ProcessState
  readonly pid: number | null
  /** The status code of `sys/health`. Null without a timely response. */
  readonly health: number | null
  readonly isInitialised: boolean
  readonly isSealed: boolean
  readonly dr: RoleView
  readonly performance: RoleView
  /** Its servers, if there are several. */
  readonly nodes?: readonly NodeRow[] | undefined
  /** Descriptions of its problems. Empty if it is healthy. */
  readonly problems: readonly string[]
}
