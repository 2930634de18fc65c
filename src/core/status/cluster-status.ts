/**
 * The facts that the status endpoints tell about the server and the cluster around them. Whoever composes the server
 * provides them; every property is read afresh at each use. Nothing here needs an open barrier.
 */
export type ReplicationMode = 'disabled' | 'bootstrapping' | 'primary' | 'secondary'

/** The active node of a cluster, as its nodes know it. URLs. */
export interface ActiveNode {
  readonly apiAddress: string
  readonly clusterAddress: string
}

/** One of the nodes of a cluster. */
export interface NodeFacts extends ActiveNode {
  readonly hostname: string
  readonly version: string
  readonly isActive: boolean
  /** When a standby was last heard of, in milliseconds since the epoch; undefined for the active node. */
  readonly lastEchoMs: number | undefined
}

export interface ClusterStatus {
  /** True for a node that waits to become active while another one is, or none. */
  readonly isStandby: boolean
  /** True for a standby that answers reads from its own copy. */
  readonly isPerformanceStandby: boolean
  /** True for a node that the others have taken out of the cluster. */
  readonly isRemoved: boolean
  /** True while writes of clients are refused because a newer primary of the set exists. */
  readonly isFenced: boolean
  /** Undefined while none is known. */
  readonly activeNode: ActiveNode | undefined
  /** The nodes that are there now. */
  readonly nodes: () => Promise<readonly NodeFacts[]>
  /** True while a role change rebuilds the cluster: it serves status reads only. */
  readonly isRestarting: boolean
  /** Empty until known; never shown while sealed. */
  readonly clusterName: string
  /** The id of this very cluster, not of a replication set. */
  readonly clusterId: string
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
  /** Whether storage and settings would let several nodes be one cluster. */
  readonly isHaEnabled: boolean
  /** A server in development mode with nothing but its memory. */
  readonly isPlainDev: boolean
  readonly replicationModes: { readonly dr: ReplicationMode; readonly performance: ReplicationMode }
  /** Last index of the own log, and of what was taken over from a primary; 0 = none. */
  readonly lastWal: number
  readonly lastRemoteWal: number
  /** The measurements that a secondary has of its primary; 0 elsewhere. */
  readonly echoDurationMs: number
  readonly clockSkewMs: number
  readonly canaryAgeMs: number
  /** When this server became active; undefined while it is not. Milliseconds since the epoch. */
  readonly activeSinceMs: number | undefined
  readonly license: LicenseKind
}

/** `plus` has no DR replication, `none` neither kind. */
export type LicenseKind = 'enterprise' | 'plus' | 'none'
