import type { JsonObject } from '../../logical/json.js'
import type { Request, Withheld } from '../../logical/request.js'

/**
 * The facts that status endpoints report about the server and its cluster. The server provides them, and every property is
 * read on each use. None of them requires an unsealed barrier.
 */
type ReplicationMode = 'disabled' | 'bootstrapping' | 'primary' | 'secondary'

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
  /** True for a node that is not active, even if no other node is active. */
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

/** The status fields that a listener may withhold. */
const FIELDS: ReadonlyMap<string, Withheld> = new Map([
  ['leader_address', 'addresses'],
  ['leader_cluster_address', 'addresses'],
  ['cluster_name', 'cluster-name'],
  ['version', 'version'],
  ['build_date', 'version'],
])

/**
 * Removes the fields that the request's listener withholds from the body of a status response. They become empty strings;
 * the cluster name is omitted, as Vault omits an empty one.
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

/** The response of sys/health: the state, its status code, and the codes that the caller requests instead. */

interface HealthFacts {
  readonly isRemoved: boolean
  readonly isInitialized: boolean
  readonly isSealed: boolean
  readonly isDrSecondary: boolean
  /** The first full sync is in progress: there is no data to serve yet. */
  readonly isBootstrapping: boolean
  readonly isStandby: boolean
  readonly isPerformanceStandby: boolean
  /** Client writes are rejected, since a newer primary of the set exists. */
  readonly isFenced: boolean
}

export type HealthState =
  | 'uninitialized'
  | 'removed'
  | 'sealed'
  | 'bootstrapping'
  | 'drSecondary'
  | 'performanceStandby'
  | 'standby'
  | 'fenced'
  | 'active'

/** The status code of a state, and the query parameter that overrides it. */
const HEALTH_CODES: Readonly<Record<HealthState, { readonly code: number; readonly parameter: string }>> = {
  uninitialized: { code: 501, parameter: 'uninitcode' },
  removed: { code: 530, parameter: 'removedcode' },
  sealed: { code: 503, parameter: 'sealedcode' },
  bootstrapping: { code: 503, parameter: 'sealedcode' },
  drSecondary: { code: 472, parameter: 'drsecondarycode' },
  performanceStandby: { code: 473, parameter: 'performancestandbycode' },
  standby: { code: 429, parameter: 'standbycode' },
  fenced: { code: 503, parameter: 'sealedcode' },
  active: { code: 200, parameter: 'activecode' },
}

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

/** Returns the status code of a state. `wanted` are the codes in the query, by parameter. */
export const healthCode = (state: HealthState, wanted: Readonly<Record<string, number | undefined>>): number => {
  const { code, parameter } = HEALTH_CODES[state]
  return wanted[parameter] ?? code
}
