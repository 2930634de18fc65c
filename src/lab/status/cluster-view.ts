import type { NodeView } from './node-view.js'

/** The state of one cluster in one kind of replication, as it tells it. */
export interface RoleView {
  readonly mode: string
  readonly state: string
  readonly connectionState: string
  /** Of the replication set. */
  readonly clusterId: string
  /** In full, 40 hexadecimal digits; empty when it takes no part. */
  readonly merkleRoot: string
  /** The end of its own log for a primary; how far it has come with its primary's for a secondary. */
  readonly lastWal: number
  /** Of a primary: what its secondaries of this kind are to reach. */
  readonly lastKindWal: number
  /** The cluster address of the primary, its own for a primary; empty when there is none. */
  readonly primaryAddress: string
  /** Of a secondary: the id that its primary knows it by; empty otherwise. */
  readonly secondaryId: string
  /** Of a primary: the ids of the secondaries that it has let in, connected or not. */
  readonly knownSecondaries: readonly string[]
  /** Of a primary: the ids of the secondaries that are connected with it. */
  readonly connectedSecondaries: readonly string[]
  /** Of a secondary: when it last heard from its primary, RFC 3339; empty otherwise. */
  readonly lastHeartbeat: string
  /** Of a secondary: it has what its primary lost, and follows none until it is told to. */
  readonly isAhead?: boolean | undefined
  /** Of a secondary: how old what it shows is, in milliseconds, as far as it knows. */
  readonly ageMs: number
}

/** Of a cluster that does not say. */
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

/** One of several servers of a cluster. */
export interface NodeRow extends NodeView {
  readonly process: ProcessState
  readonly pid: number | null
}

/** One cluster, as its own address answers; of several nodes that of the active one. */
export interface ClusterView {
  readonly name: string
  readonly apiAddress: string
  /** `elsewhere`: whether it runs cannot be seen from here. */
  readonly process: ProcessState
  readonly pid: number | null
  /** The status of `sys/health`; null when nothing answered in time. */
  readonly health: number | null
  readonly isInitialised: boolean
  readonly isSealed: boolean
  readonly dr: RoleView
  readonly performance: RoleView
  /** Its servers, where they are several. */
  readonly nodes?: readonly NodeRow[] | undefined
  /** Its problems in words; empty when it is well. */
  readonly problems: readonly string[]
}
