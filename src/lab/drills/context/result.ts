import type { LabEvent } from '../../events/event.js'
import type { LabKind } from '../../model/server-verbs.js'
import type { Link } from '../../model/topology.js'
import type { RestoredCredentials } from '../../requests/losses.js'

/**
 * The outcome of a drill: JSON-compatible data, as in reports and `--json`. Times with the suffix `Ms` are milliseconds
 * since the start of the drill, unless stated otherwise. Null means not measured, never zero.
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
  /** The symptom that operators see in this situation, and its fix. */
  readonly symptom: string | null
  readonly fix: string | null
  readonly topology: string
  readonly runner: LabKind
  /** Seed of an in-process lab that was started for the drill. Otherwise empty. */
  readonly seed: string
  /** `servers`: the versions that the servers report, by cluster. */
  readonly versions: {
    readonly understudy: string
    readonly node: string
    readonly servers: Readonly<Record<string, string>>
  }
  /** RFC 3339. */
  readonly startedAt: string
  readonly durationMs: number
  readonly steps: readonly StepResult[]
  readonly expectations: readonly ExpectationResult[]
  /** Null if the drill has no writers, or ended before its last step. `rpo` likewise. */
  readonly rto: RtoResult | null
  readonly rpo: RpoResult | null
  /** Null if the load has no tokens, or the drill ended before the tokens were checked. */
  readonly tokens: TokensResult | null
  /** The clusters that discarded log entries during the drill, because they followed another primary. */
  readonly discarded: readonly DiscardedEntries[]
  readonly samples: readonly Sample[]
  readonly events: readonly DrillEvent[]
  /** Null if the drill ended before the lab was observed. */
  readonly before: ObservedLab | null
  readonly after: ObservedLab | null
  /** The sign-off data that the operator specified. Other values are empty. */
  readonly audit: DrillAudit
  /** Every write request of the drill itself, in order. */
  readonly calls: readonly CallResult[]
  /** Shell commands that run the drill again. */
  readonly howToRepeat: string
  /** `failed`: a step failed, or an expectation was false. `error`: the drill could not be completed. */
  readonly verdict: 'passed' | 'failed' | 'error'
  /** Why the drill could not be completed. */
  readonly error: string | null
}

/** Sign-off data of a drill report, for auditors. */
export interface DrillAudit {
  readonly operator: string
  readonly approver: string
  /** The ID of the change in the change management system. */
  readonly change: string
  readonly environment: string
}

export interface StepResult {
  /** Setup steps run before the clients start. */
  readonly phase: 'setup' | 'drill'
  readonly name: string
  readonly verb: string
  readonly detail: string
  /** Shell commands that do the same manually. */
  readonly commands: readonly string[]
  readonly startedMs: number
  readonly tookMs: number
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** The last part of the output of the step's command. */
  readonly output?: string
  readonly error?: string
}

export interface ExpectationResult {
  /** Describes the expectation in English, such as `rto at most 60 s`. */
  readonly text: string
  readonly passed: boolean
  /** Observations, one sentence each. */
  readonly evidence: readonly string[]
}

/**
 * The longest interruption of writes. It starts with the first failed write, and ends with the first write that another
 * cluster accepted. If the clients stayed on their cluster, it ends when the last client was served again.
 */
export interface RtoResult extends ClientRto {
  readonly sloMs?: number
  /** The cluster that accepted the first write after the interruption. */
  readonly acceptedBy: string | null
  readonly byClient: Readonly<Record<ClientKind, ClientRto | null>>
}

/** `old-token` writers keep a token from before the drill. `new-login` writers log in by AppRole before each write. */
export type ClientKind = 'old-token' | 'new-login' | 'reader'

export interface ClientRto {
  /** Zero if no request failed. Null if no request was accepted after the failure. */
  readonly ms: number | null
  /** Start and end of the interruption. Null without an interruption, or without an end. */
  readonly fromMs: number | null
  readonly toMs: number | null
}

/** Writes that were acknowledged and then lost. */
export interface RpoResult {
  /** Null if not every write could be read back. */
  readonly writesLost: number | null
  readonly sloWrites?: number
  readonly acknowledged: number
  readonly readBack: number
  readonly lost: readonly LostWrite[]
  /** Time between the first and the last acknowledgment of a lost write. 0 without loss, null if not measured. */
  readonly seconds: number | null
  readonly byClient: Readonly<
    Partial<Record<ClientKind, { readonly acknowledged: number; readonly lost: number | null }>>
  >
}

interface LostWrite {
  readonly key: string
  readonly ackedMs: number
  /** The cluster that acknowledged the write. */
  readonly cluster: string
  readonly client: ClientKind
}

interface DiscardedEntries {
  readonly cluster: string
  /** Number of log entries. */
  readonly entries: number
  /** Storage paths of the entries, at most 100. Empty if the server does not show them. */
  readonly paths: readonly string[]
  /** Credentials that came back: they are valid again on the new primary. */
  readonly restored: RestoredCredentials
}

export interface TokensResult {
  readonly survived: number
  readonly total: number
  readonly lost: readonly { readonly name: string; readonly reason: string }[]
}

/** Counts since the previous sample. */
export interface Sample {
  readonly atMs: number
  /** Accepted writes. */
  readonly accepted: number
  readonly refused: number
  /** Successful reads. `readsRefused`: reads that were rejected or got no response. */
  readonly reads: number
  readonly readsRefused: number
  /** Lag in entries by link, such as `A>B dr`. Null if it could not be measured. */
  readonly lag: Readonly<Record<string, number | null>>
}

export interface DrillEvent extends Pick<LabEvent, 'kind' | 'cluster' | 'details' | 'command'> {
  /** The time of the change itself, in milliseconds since the start of the drill. The drill may observe it later. */
  readonly atMs: number
}

/** The clusters and the replication links of a lab at one time. */
export interface ObservedLab {
  readonly atMs: number
  readonly clusters: readonly ObservedCluster[]
  readonly links: readonly ObservedLink[]
}

export interface ObservedCluster {
  readonly name: string
  /** The status code of `sys/health`. Null without a response. */
  readonly health: number | null
  readonly dr: ObservedRole
  readonly performance: ObservedRole
}

export interface ObservedRole {
  /** `disabled`, `bootstrapping`, `primary`, `secondary`, or `unknown` without a response. */
  readonly mode: string
  readonly state: string
  readonly connectionState: string
  readonly merkleRoot: string
  /** Index of the last entry. On a secondary: of the last entry received from its primary. */
  readonly lastWal: number | null
}

export interface ObservedLink extends Pick<Link, 'kind' | 'primary' | 'secondary'> {
  readonly isConnected: boolean
}

export interface CallResult {
  readonly atMs: number
  readonly cluster: string
  readonly method: string
  readonly path: string
  readonly command: string
  /** Null without a response. */
  readonly status: number | null
  readonly tookMs: number
}
