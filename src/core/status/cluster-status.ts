/**
 * The facts that status endpoints report about the server and its cluster. The server provides them, and every property is
 * read on each use. None of them requires an unsealed barrier.
 */
export type ReplicationMode = 'disabled' | 'bootstrapping' | 'primary' | 'secondary'

/** The active node of a cluster, as known to its nodes. Addresses are URLs. */
export interface ActiveNode {
  readonly apiAddress: string
  readonly clusterAddress: string
}

/** One node of a cluster. */
export interface NodeFacts extends ActiveNode {
  readonly hostname: string
  readonly version: string
  readonly isActive: boolean
  /** Time of the last heartbeat of a standby, in milliseconds since the epoch; undefined for the active node. */
  readonly lastEchoMs: number | undefined
}

/** The facts that depend on the data. While a role change rebuilds the cluster, they are those from before. */
export interface ClusterFacts {
  /** Empty until known. Never shown while sealed. */
  readonly clusterName: string
  /** The ID of this cluster, as opposed to that of a replication set. */
  readonly clusterId: string
  readonly replicationModes: { readonly dr: ReplicationMode; readonly performance: ReplicationMode }
  /** Last index of this cluster's log, and last index applied from a primary; 0 = none. */
  readonly lastWal: number
  readonly lastRemoteWal: number
  /** The secondary's measurements of its primary; 0 elsewhere. */
  readonly echoDurationMs: number
  readonly clockSkewMs: number
  readonly canaryAgeMs: number
  /** When this server became active, in milliseconds since the epoch; undefined while it is not. */
  readonly activeSinceMs: number | undefined
  /** True while client writes are rejected because a newer primary of the set exists. */
  readonly isFenced: boolean
}

export interface ClusterStatus {
  /** Computed on each read. */
  readonly facts: ClusterFacts
  /** True for a node that is not active, whether or not another node is. */
  readonly isStandby: boolean
  /** True for a standby that answers reads from its own copy. */
  readonly isPerformanceStandby: boolean
  /** True for a node that was removed from the cluster. */
  readonly isRemoved: boolean
  /** Undefined while unknown. */
  readonly activeNode: ActiveNode | undefined
  /** Returns the nodes present now. */
  readonly nodes: () => Promise<readonly NodeFacts[]>
  /** True while a role change rebuilds the cluster: only status reads are served. */
  readonly isRestarting: boolean
  /** URLs; empty when not configured. */
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly hostname: string
  /** `1.20.4+ent`. */
  readonly reportedVersion: string
  /** RFC 3339. */
  readonly buildDate: string
  /** The configuration's label: `raft`, `file`, `inmem`. */
  readonly storageType: string
  /** Whether storage and settings allow several nodes in one cluster. */
  readonly isHaEnabled: boolean
  /** True for a development server with in-memory storage only. */
  readonly isPlainDev: boolean
  readonly license: LicenseKind
}

/** `plus` lacks DR replication, `none` lacks all replication. */
export type LicenseKind = 'enterprise' | 'plus' | 'none'
