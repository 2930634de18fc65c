/**
 * What the page of a lab is told, as plain data: facts and words, and no secret. The page itself imports nothing of ours but
 * these types.
 */
export interface PageSurvey {
  readonly lab: string
  readonly topology: string
  /** As the lab was made: clusters keep the places that this gives them, whoever leads later. */
  readonly planned: readonly PlannedLink[]
  readonly clusters: readonly PageCluster[]
  /** Who follows whom now. */
  readonly links: readonly PageLink[]
  /** Null when the keeper, which holds the links, does not answer. */
  readonly faults: readonly PageFault[] | null
  readonly problems: readonly string[]
  /** False where nobody notes what happens, as in a lab of servers that somebody else runs. */
  readonly hasEvents: boolean
}

type PageKind = 'dr' | 'performance'

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

export interface PageCluster {
  readonly name: string
  readonly apiAddress: string
  readonly process: 'running' | 'paused' | 'stopped' | 'elsewhere'
  readonly isAnswering: boolean
  readonly isInitialised: boolean
  readonly isSealed: boolean
  readonly dr: PageRole
  readonly performance: PageRole
  readonly problems: readonly string[]
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
  /** The ends of its link; null for a fault of a server. */
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
}

/** Names of what is sent, each with JSON of one kind: a PageSurvey, PageEvents, why there is no lab, nothing. */
export const PAGE_MESSAGES = ['survey', 'events', 'gone', 'reset'] as const
