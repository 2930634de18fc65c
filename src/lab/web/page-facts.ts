/** The data of the page of a lab, as JSON without secrets. The page imports nothing else from the lab code. */
export interface PageSurvey {
  readonly lab: string
  /** Time of the query, in milliseconds since the epoch. */
  readonly atMs: number
  readonly topology: string
  /** The initial topology. It determines the positions of clusters, even after role changes. */
  readonly planned: readonly PlannedLink[]
  readonly clusters: readonly PageCluster[]
  /** The current replication topology, and the last known links of clusters that report no roles. */
  readonly links: readonly PageLink[]
  /** Pairs of primaries of the same replication set (split brain). */
  readonly splits: readonly PageSplit[]
  /** Null if the lab daemon, which owns the links, does not respond. */
  readonly faults: readonly PageFault[] | null
  readonly problems: readonly string[]
  /** The losses of the clusters that lost log entries. */
  readonly losses: readonly PageLosses[]
  /** Whether a lab daemon records events. An attached lab has no lab daemon. */
  readonly hasEvents: boolean
  /** The available actions by subject: `lab`, `cluster A`, `node A1` or `link A B`. Empty on a read-only page. */
  readonly actions: Readonly<Record<string, readonly AvailableAction[]>>
}

/** The log entries that a former primary discarded. */
export interface PageLosses {
  readonly cluster: string
  /** Number of log entries. 0 if the cluster has no list of them. */
  readonly entries: number
  /** The first storage paths. Empty if the server does not show paths to a client without a token. */
  readonly paths: readonly string[]
  /** Number of further paths. */
  readonly pathsBeyond: number
  /** Credentials that are valid again, such as `1 token`. Empty if there are none. */
  readonly restored: string
  /** The command that lists the entries. */
  readonly command: string
}

export type PageKind = 'dr' | 'performance'

export interface PlannedLink {
  readonly kind: PageKind
  readonly primary: string
  readonly secondary: string
}

interface PageSplit {
  readonly kind: PageKind
  readonly between: readonly [string, string]
}

export interface PageRole {
  readonly mode: string
  readonly state: string
  readonly lastWal: number
  /** The ID of the replication set. Absent if unknown. */
  readonly clusterId?: string
}

type PageProcess = 'running' | 'paused' | 'stopped' | 'crashed' | 'elsewhere'

export interface PageCluster {
  readonly name: string
  readonly apiAddress: string
  readonly process: PageProcess
  readonly isAnswering: boolean
  readonly isInitialized: boolean
  readonly isSealed: boolean
  /** Whether the cluster is a primary that rejects writes, because its replication set has a newer primary. */
  readonly isFenced?: boolean
  readonly dr: PageRole
  readonly performance: PageRole
  /** Null if the server does not count its requests. */
  readonly requests: PageRequests | null
  /** Null for a cluster with a single server. */
  readonly nodes: readonly PageNode[] | null
  readonly problems: readonly string[]
}
export interface PageNode {
  /** For example, `A2` of the cluster `A`. */
  readonly name: string
  readonly apiAddress: string
  readonly process: PageProcess
  /** `performance-standby`, or a `NodeState` such as `active`, `standby` or `sealed`. */
  readonly state: string
  readonly isActive: boolean
  /** Number of applied entries of the shared node log. Null if unknown. */
  readonly appliedIndex: number | null
}

/** Requests since the start of the server. In a multi-node cluster, those of the active node. */
export interface PageRequests {
  readonly server: string
  readonly handled: number
  /** Number of rejected requests among those in `handled`. */
  readonly refused: number
}

export interface PageLink {
  readonly kind: PageKind
  /** Null if the primary is not a cluster of the lab, or is unknown. */
  readonly primary: string | null
  /** The last known primary, if `primary` is null. */
  readonly lastPrimary?: string
  readonly secondary: string
  readonly state: string
  readonly connectionState: string
  readonly lagEntries: number | null
  readonly lagSeconds: number | null
}

export interface PageFault {
  readonly id: number
  /** The clusters or nodes at the ends of the link. Null for a server fault. */
  readonly between: readonly [string, string] | null
  readonly isCut: boolean
  /** A label that fits on an arrow: a pair of scissors, or `80 ms`. */
  readonly sign: string
  /** For example, `A <-> C, latency 80 ms`. */
  readonly text: string
}

export interface PageEvent {
  readonly id: number
  /** RFC 3339. */
  readonly time: string
  readonly cluster: string | null
  readonly kind: string
  readonly text: string
  /** The equivalent shell command. */
  readonly command: string | null
  /** The start or end of a drill step. */
  readonly step: { readonly name: string; readonly phase: string } | null
}

/** The actions of the page. Actions on servers and clusters have the same names as on the command line. */
export type PageVerb =
  | ('start' | 'stop' | 'crash' | 'pause' | 'resume' | 'seal' | 'unseal')
  | ('cut' | 'latency' | 'heal')
  | ('promote' | 'demote' | 'failover' | 'switchover' | 'rejoin' | 'step-down')
  | ('drill' | 'save' | 'load' | 'reset')

/** An action with the parameters of its verb. */
export interface PageAction {
  readonly verb: PageVerb
  /** The cluster or node, the ends of a link, or the old and new primary. Empty for actions on the lab. */
  readonly clusters: readonly string[]
  readonly kind?: PageKind
  /** Latency in milliseconds. */
  readonly ms?: number
  readonly isForced?: boolean
  /** Accepts any loss of a failover. */
  readonly acceptsLoss?: boolean
  /** Name of a drill or a snapshot. */
  readonly name?: string
}
export interface AvailableAction {
  /** The label in a list of actions. */
  readonly label: string
  /** The title of the dialog of the action, such as `Fail over to B`. */
  readonly title: string
  /** The label of the button that runs the action, such as `Fail over`. */
  readonly verb: string
  readonly action: PageAction
  /** The input that the action needs. */
  readonly asks?: 'ms' | 'drill' | 'new-snapshot' | 'snapshot'
  /** The options that the user can select. */
  readonly options: readonly PageOption[]
}

interface PageOption {
  readonly field: 'isForced' | 'acceptsLoss'
  readonly label: string
  readonly consequence: string
}

/** The expected effects of an action, shown before the action starts. */
export interface PagePlan {
  /** Whether the user must confirm the action. */
  readonly isDestructive: boolean
  readonly consequence: string
  /** The equivalent shell command. Null if only requests are equivalent. */
  readonly command: string | null
  /** The steps of the written runbook, or of a drill. Empty if the action is a single command. */
  readonly steps: readonly PagePlanStep[]
}

export interface PagePlanStep {
  readonly title: string
  /** Null for a step of a drill. */
  readonly command: string | null
}

/** The drills and snapshots from which the user can choose. */
export interface PageChoices {
  readonly drills: readonly PageDrillChoice[]
  readonly snapshots: readonly string[]
}

interface PageDrillChoice {
  readonly name: string
  readonly purpose: string
  /** The topology for which the drill was written. On other topologies, its expectations may not hold. */
  readonly topology: string
  /** The usual duration, such as `25s`. Empty if unknown. */
  readonly duration: string
}

/**
 * Names of the messages to the page. Their JSON data:
 * - `survey`: PageSurvey
 * - `events`: PageEvents
 * - `work`: a new or changed PageJob
 * - `gone`: the reason why there is no lab
 * - `full`: the reason why no more pages can connect
 * - `reset`: none
 */
export const PAGE_MESSAGES = ['survey', 'events', 'work', 'gone', 'full', 'reset'] as const
