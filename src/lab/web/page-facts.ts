/**
 * What the page of a lab is told, as plain data: facts and words, and no secret. The page itself imports nothing of ours but
 * these types.
 */
export interface PageSurvey {
  readonly lab: string
  /** When the clusters were asked, in milliseconds since the epoch. */
  readonly atMs: number
  readonly topology: string
  /** As the lab was made: clusters keep the places that this gives them, whoever leads later. */
  readonly planned: readonly PlannedLink[]
  readonly clusters: readonly PageCluster[]
  /** Who follows whom now. */
  readonly links: readonly PageLink[]
  /** Null when the lab daemon, which holds the links, does not answer. */
  readonly faults: readonly PageFault[] | null
  readonly problems: readonly string[]
  /** False where nobody notes what happens, as in a lab of servers that somebody else runs. */
  readonly hasEvents: boolean
  /** What can be done to this lab from the page; nothing where the page is only for looking. */
  readonly verbs: readonly PageVerb[]
}

export type PageKind = 'dr' | 'performance'

export interface PlannedLink {
  readonly kind: PageKind
  readonly primary: string
  readonly secondary: string
}

export interface PageRole {
  readonly mode: string
  readonly state: string
  readonly lastWal: number
}

type PageProcess = 'running' | 'paused' | 'stopped' | 'elsewhere'

export interface PageCluster {
  readonly name: string
  readonly apiAddress: string
  readonly process: PageProcess
  readonly isAnswering: boolean
  readonly isInitialised: boolean
  readonly isSealed: boolean
  readonly dr: PageRole
  readonly performance: PageRole
  /** Null where it does not say. */
  readonly requests: PageRequests | null
  /** Its servers, where they are several. */
  readonly nodes: readonly PageNode[] | null
  readonly problems: readonly string[]
}

/** One of several servers of a cluster. */
export interface PageNode {
  /** `A2` of the cluster `A`. */
  readonly name: string
  readonly apiAddress: string
  readonly process: PageProcess
  /** `active`, `standby`, `performance-standby`, `sealed`, `taking-over`, `stopped`, `silent` and others that nodes have on the way. */
  readonly state: string
  readonly isActive: boolean
  /** How many entries of the log that the nodes share it has applied; null where that is not known. */
  readonly appliedIndex: number | null
}

/** Counted since the server was started; of several the one that is active. */
export interface PageRequests {
  readonly server: string
  readonly handled: number
  /** Part of those. */
  readonly refused: number
}

export interface PageLink {
  readonly kind: PageKind
  /** Null where no cluster of the lab is its primary now. */
  readonly primary: string | null
  readonly secondary: string
  readonly state: string
  readonly connectionState: string
  readonly lagEntries: number | null
  readonly lagSeconds: number | null
}

export interface PageFault {
  readonly id: number
  /** The ends of its link, clusters or nodes of one; null for a fault of a server. */
  readonly between: readonly [string, string] | null
  readonly isCut: boolean
  /** Short enough for an arrow: a pair of scissors, or `80 ms`. */
  readonly sign: string
  /** `A <-> C, latency 80 ms`. */
  readonly text: string
}

export interface PageEvent {
  readonly id: number
  /** RFC 3339. */
  readonly time: string
  readonly cluster: string | null
  readonly kind: string
  readonly text: string
  /** The line of a shell that does the same. */
  readonly command: string | null
  /** Of a drill: what begins or has ended. */
  readonly step: { readonly name: string; readonly phase: string } | null
}

/** What somebody can have done. Those of servers and of clusters are the words of the command line. */
export type PageVerb =
  | ('start' | 'stop' | 'crash' | 'pause' | 'resume' | 'seal' | 'unseal')
  | ('cut' | 'latency' | 'heal')
  | ('promote' | 'demote' | 'failover' | 'switchover' | 'rejoin' | 'step-down')
  | ('drill' | 'save' | 'load' | 'reset')

/** Something to be done, with what its verb takes. */
export interface PageAction {
  readonly verb: PageVerb
  /** The cluster or node, the two ends of a link, or who hands over and who takes over; none for what concerns the lab. */
  readonly clusters: readonly string[]
  readonly kind?: PageKind
  /** Of a latency. */
  readonly ms?: number
  readonly isForced?: boolean
  /** Of a drill or a snapshot. */
  readonly name?: string
}

/** What would be done. */
export interface PagePlan {
  readonly title: string
  /** Whether somebody has to say once more that it is wanted. */
  readonly isDestructive: boolean
  /** What becomes of the lab by it. */
  readonly consequence: string
  /** The line of a shell that does the same; null where only the calls do. */
  readonly command: string | null
  /** The calls that it makes, or the steps of a drill. */
  readonly lines: readonly string[]
}

/** What there is to choose from. */
export interface PageChoices {
  readonly drills: readonly PageDrillChoice[]
  readonly snapshots: readonly string[]
}

interface PageDrillChoice {
  readonly name: string
  readonly purpose: string
  /** What it was written for; on another one it may expect what is not so. */
  readonly topology: string
}

export interface PageLine {
  /** `call`: a line of a shell that makes it by hand. */
  readonly kind: 'said' | 'call'
  readonly text: string
}

/** Something that is done from the page, and what came of it. */
export interface PageWork {
  readonly id: number
  readonly title: string
  readonly command: string | null
  readonly state: 'running' | 'done' | 'failed' | 'stopped'
  /** The newest at the end. */
  readonly lines: readonly PageLine[]
  /** What came of it, or why nothing did; empty while it runs. */
  readonly outcome: string
  /** Null while it runs. */
  readonly tookMs: number | null
  readonly canBeStopped: boolean
  readonly drill: PageDrill | null
}

export interface PageDrill {
  readonly name: string
  readonly purpose: string
  readonly steps: readonly PageStep[]
  readonly expectations: readonly {
    readonly text: string
    readonly passed: boolean
    readonly evidence: readonly string[]
  }[]
}

export interface PageStep {
  readonly name: string
  readonly state: 'waiting' | 'running' | 'passed' | 'failed' | 'skipped'
  /** Null before its end. */
  readonly tookMs: number | null
  readonly error: string | null
  readonly commands: readonly string[]
}

/**
 * Names of what is sent, each with JSON of one kind: a PageSurvey, PageEvents, a PageWork that is new or has changed, why there
 * is no lab, why there is no place for one more page, nothing.
 */
export const PAGE_MESSAGES = ['survey', 'events', 'work', 'gone', 'full', 'reset'] as const
