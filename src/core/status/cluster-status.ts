import type { JsonObject } from '../../logical/json.js'
import type { Request, Withheld } from '../../logical/request.js'

type ReplicationMode = 'disabled' | 'bootstrapping' | 'primary' | 'secondary'

/** The active node of a cluster. Addresses are URLs. */
export interface ActiveNode {
  readonly apiAddress: string
  readonly clusterAddress: string
}

export interface NodeFacts extends ActiveNode {
  readonly hostname: string
  readonly version: string
  readonly isActive: boolean
  /** Time of the last heartbeat of a standby, in milliseconds since the epoch; undefined for the active node. */
  readonly lastEchoMs: number | undefined
}

/** The facts that depend on the data of the cluster. During a role change, the facts from before the change. */
export interface ClusterFacts {
  /** Empty until known. Responses omit the name while the cluster is sealed. */
  readonly clusterName: string
  /** The ID of this cluster, as opposed to that of a replication set. */
  readonly clusterId: string
  readonly replicationModes: { readonly dr: ReplicationMode; readonly performance: ReplicationMode }
  /** The last index of this cluster's log; 0 if the log is empty. */
  readonly lastWal: number
  /** The last index of the primary's log that this cluster has applied; 0 without a primary. */
  readonly lastRemoteWal: number
  /** The measurements that a secondary makes of its primary, in milliseconds; 0 on other clusters. */
  readonly echoDurationMs: number
  readonly clockSkewMs: number
  readonly canaryAgeMs: number
  /** Time at which this server became active, in milliseconds since the epoch; undefined while it is not active. */
  readonly activeSinceMs: number | undefined
  /** True while client writes are rejected because a newer primary of the replication set exists. */
  readonly isFenced: boolean
}

/** The facts that the status endpoints report. Reading them does not require an unsealed barrier. */
export interface ClusterStatus {
  /** Computed on each read. */
  readonly facts: ClusterFacts
  /** True for a node that is not active, even if no other node is active. */
  readonly isStandby: boolean
  /** True for a standby that answers reads from its own copy. */
  readonly isPerformanceStandby: boolean
  readonly isRemoved: boolean
  /** Undefined while unknown. */
  readonly activeNode: ActiveNode | undefined
  readonly nodes: () => Promise<readonly NodeFacts[]>
  /** True while a role change rebuilds the cluster. Only status reads are available then. */
  readonly isRestarting: boolean
  /** URLs; empty when not configured. */
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly hostname: string
  /** The version that clients see, such as `1.20.4+ent`. */
  readonly reportedVersion: string
  /** In the format of RFC 3339. */
  readonly buildDate: string
  /** The label of the storage stanza in the configuration, such as `raft`, `file` or `inmem`. */
  readonly storageType: string
  /** Whether storage and settings allow several nodes in one cluster. */
  readonly isHaEnabled: boolean
  /** True for a development server with in-memory storage only. */
  readonly isPlainDev: boolean
  readonly license: LicenseKind
}

/** `plus` lacks DR replication, `none` lacks all replication. */
export type LicenseKind = 'enterprise' | 'plus' | 'none'

/** The status fields that a listener may withhold. */
const FIELDS: ReadonlyMap<string, Withheld> = new Map([
  ['leader_address', 'addresses'],
  ['leader_cluster_address', 'addresses'],
  ['cluster_name', 'cluster-name'],
  ['version', 'version'],
  ['build_date', 'version'],
])

/**
 * Removes the fields that the request's listener withholds from the body of a status response. The fields become empty
 * strings, except the cluster name, which is omitted as in Vault.
 */
export const withhold = (body: JsonObject, { withheld = [] }: Pick<Request, 'withheld'>): JsonObject => {
  if (withheld.length === 0) return body
  const shown: JsonObject = {}
  for (const [name, value] of Object.entries(body)) {
    const field = FIELDS.get(name)
    if (!field || !withheld.includes(field)) shown[name] = value
    else if (field !== 'cluster-name') shown[name] = ''
  }
  return shown
}

/** The facts that determine the health state of a server. */
interface HealthFacts {
  readonly isRemoved: boolean
  readonly isInitialized: boolean
  readonly isSealed: boolean
  readonly isDrSecondary: boolean
  /** True while the first full sync is in progress, so that the cluster has no complete data. */
  readonly isBootstrapping: boolean
  readonly isStandby: boolean
  readonly isPerformanceStandby: boolean
  /** True if client writes are rejected because a newer primary of the replication set exists. */
  readonly isFenced: boolean
}

export type HealthState = keyof typeof HEALTH_CODES

/** The status code of a state, and the query parameter that overrides it. */
const HEALTH_CODES = {
  uninitialized: { code: 501, parameter: 'uninitcode' },
  removed: { code: 530, parameter: 'removedcode' },
  sealed: { code: 503, parameter: 'sealedcode' },
  bootstrapping: { code: 503, parameter: 'sealedcode' },
  drSecondary: { code: 472, parameter: 'drsecondarycode' },
  performanceStandby: { code: 473, parameter: 'performancestandbycode' },
  standby: { code: 429, parameter: 'standbycode' },
  fenced: { code: 503, parameter: 'sealedcode' },
  active: { code: 200, parameter: 'activecode' },
} as const

export const decideHealth = (facts: HealthFacts): HealthState => {
  if (facts.isRemoved) return 'removed'
  if (!facts.isInitialized) return 'uninitialized'
  if (facts.isSealed) return 'sealed'
  if (facts.isBootstrapping) return 'bootstrapping'
  if (facts.isDrSecondary) return 'drSecondary'
  if (facts.isPerformanceStandby) return 'performanceStandby'
  if (facts.isStandby) return 'standby'
  return facts.isFenced ? 'fenced' : 'active'
}

/** Returns the status code of a state. `wanted` contains the codes of the query, by parameter. */
export const healthCode = (state: HealthState, wanted: Readonly<Record<string, number | undefined>>): number => {
  const { code, parameter } = HEALTH_CODES[state]
  return wanted[parameter] ?? code
}
