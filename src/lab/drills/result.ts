import type { EventDetails, EventKind } from '../events/event.js'
import type { LabKind } from '../model/server-verbs.js'

/**
 * The outcome of a drill: plain data that goes through JSON unchanged, as reports and `--json` have it. Times with the
 * ending `Ms` are milliseconds since the drill began, unless they say otherwise. Null means that it was not measured,
 * never zero.
 *
 * @example
 * import { type DrillResult, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('pr-dr')
 * const { verdict, rto, rpo, tokens }: DrillResult = await lab.drill('dr-failover', { slo: { rtoMs: 60_000 } })
 * if (verdict !== 'passed') throw new Error(JSON.stringify({ rto, rpo, tokens }))
 */
export interface DrillResult {
  readonly apiVersion: 'understudy/v1'
  readonly kind: 'DrillResult'
  readonly drill: string
  readonly purpose: string
  /** The symptom that people see when this happens to them, and its remedy. */
  readonly symptom: string | null
  readonly fix: string | null
  readonly topology: string
  readonly runner: LabKind
  /** Seed of faults and load; in one process of the clusters, too. */
  readonly seed: string
  readonly versions: DrillVersions
  /** RFC 3339. */
  readonly startedAt: string
  readonly durationMs: number
  readonly steps: readonly StepResult[]
  readonly expectations: readonly ExpectationResult[]
  /** Null when the drill has no load that writes, or broke off: a step was not reached, or cannot be played. */
  readonly rto: RtoResult | null
  readonly rpo: RpoResult | null
  /** Null when the load holds no tokens, or their end was not seen, as in a drill that broke off. */
  readonly tokens: TokensResult | null
  readonly samples: readonly Sample[]
  readonly events: readonly DrillEvent[]
  /** Null when the drill ended before it could be seen. */
  readonly before: Picture | null
  readonly after: Picture | null
  /** Every request of the drill itself that changed something, in order. */
  readonly calls: readonly CallResult[]
  /** Lines of a shell. */
  readonly howToRepeat: string
  /** `failed`: an expectation or a step with an expectation did not hold. `error`: the drill could not be played to its end. */
  readonly verdict: 'passed' | 'failed' | 'error'
  /** Why the drill could not be played to its end. */
  readonly error: string | null
}

export interface DrillVersions {
  readonly understudy: string
  readonly node: string
  /** Versions that the servers report, by cluster. */
  readonly servers: Readonly<Record<string, string>>
}

type StepOutcome = 'passed' | 'failed' | 'skipped'

export interface StepResult {
  /** Steps of the setup come before the clients begin. */
  readonly phase: 'setup' | 'drill'
  readonly name: string
  readonly verb: string
  /** The step in words. */
  readonly detail: string
  /** Lines of a shell that do the same by hand. */
  readonly commands: readonly string[]
  readonly startedMs: number
  readonly tookMs: number
  readonly outcome: StepOutcome
  /** The end of what a command of the step printed, where it printed anything. */
  readonly output?: string
  readonly error?: string
}

export interface ExpectationResult {
  /** The expectation in words, such as `rto at most 60 s`. */
  readonly text: string
  readonly passed: boolean
  /** Observations, a sentence each. */
  readonly evidence: readonly string[]
}

/** The time for which clients were not served. */
export interface RtoResult {
  /**
   * The longest interruption: from the first write that was refused or not answered to the first that another cluster
   * accepted or, where clients stayed with theirs, until the last of them was served again. Zero when no write was ever
   * refused; null when none was accepted again.
   */
  readonly ms: number | null
  readonly sloMs?: number
  /** When the interruption began and ended; null when there was none, or no end. */
  readonly fromMs: number | null
  readonly toMs: number | null
  /** The cluster that accepted the first write afterwards. */
  readonly acceptedBy: string | null
  readonly byClient: Readonly<Record<ClientKind, ClientRto | null>>
}

/** Writers hold a token from before; `login` logs in anew by AppRole for each write. */
export type ClientKind = 'old-token' | 'new-login' | 'reader'

export interface ClientRto {
  readonly ms: number | null
  readonly fromMs: number | null
  readonly toMs: number | null
}

/** Writes that were acknowledged and are not there. */
export interface RpoResult {
  /** Null when not every write could be read back. */
  readonly writesLost: number | null
  readonly sloWrites?: number
  readonly acknowledged: number
  readonly readBack: number
  readonly lost: readonly LostWrite[]
  /** From the first to the last moment at which a lost write was acknowledged; 0 without a loss, null when not measured. */
  readonly seconds: number | null
  readonly byClient: Readonly<
    Partial<Record<ClientKind, { readonly acknowledged: number; readonly lost: number | null }>>
  >
}

export interface LostWrite {
  readonly key: string
  readonly ackedMs: number
  /** Where it was acknowledged. */
  readonly cluster: string
  readonly client: ClientKind
}

export interface TokensResult {
  readonly survived: number
  readonly total: number
  /** Tokens that did not survive, and why. */
  readonly lost: readonly { readonly name: string; readonly reason: string }[]
}

/** Counts since the sample before. */
export interface Sample {
  readonly atMs: number
  /** Writes. */
  readonly accepted: number
  readonly refused: number
  /** Reads that were answered, and that were not. */
  readonly reads: number
  readonly readsRefused: number
  /** Entries that a secondary lacks, by link such as `A>B dr`; null when it could not be asked. */
  readonly lag: Readonly<Record<string, number | null>>
}

export interface DrillEvent {
  /** When it happened, by the same clock as everything else, and not when the drill heard of it. */
  readonly atMs: number
  readonly kind: EventKind
  readonly cluster?: string
  readonly details: EventDetails
  readonly command?: string
}

/** The lab as it was at one moment. */
export interface Picture {
  readonly atMs: number
  readonly clusters: readonly PictureCluster[]
  readonly links: readonly PictureLink[]
}

export interface PictureCluster {
  readonly name: string
  /** The status of `sys/health`; null when nothing answered. */
  readonly health: number | null
  readonly dr: PictureRole
  readonly performance: PictureRole
}

export interface PictureRole {
  /** `disabled`, `bootstrapping`, `primary`, `secondary`, or `unknown` when it did not answer. */
  readonly mode: string
  readonly state: string
  readonly connectionState: string
  readonly merkleRoot: string
  /** Index of its last entry; of a secondary: of the last that came from its primary. */
  readonly lastWal: number | null
}

export interface PictureLink {
  readonly kind: 'dr' | 'performance'
  readonly primary: string
  readonly secondary: string
  readonly isConnected: boolean
}

export interface CallResult {
  readonly atMs: number
  readonly cluster: string
  readonly method: string
  readonly path: string
  /** The line of a shell that makes it. */
  readonly command: string
  /** Null when no answer came. */
  readonly status: number | null
  readonly tookMs: number
}
