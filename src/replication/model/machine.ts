import type { ErrorCode } from '../../logical/errors.js'
import type { Kind } from './types.js'

/**
 * The roles of a cluster for one kind of replication, the possible events, and the resulting transitions. SPEC.md
 * explains them; this table is authoritative. Pure: nothing here reads a record or a clock.
 */

/** A role as the API shows it. */
export type Mode = 'disabled' | 'bootstrapping' | 'primary' | 'secondary'

/** A role as the state machine uses it. `detached` is a secondary that has no credentials and therefore no primary. */
export type Stage = Mode | 'detached'

const modeOf = (stage: Stage): Mode => (stage === 'detached' ? 'secondary' : stage)

/** In the order of the columns of `TRANSITIONS`. */
export const EVENTS = [
  'enable-primary',
  'demote',
  'disable-primary',
  'enable-secondary',
  'finish-bootstrap',
  'promote',
  'disable-secondary',
  'update-primary',
  'forget-primary',
  'update-addresses',
] as const
export type Event = (typeof EVENTS)[number]

const NO = 'rejected'
const BOOT = 'bootstrapping'

/** One cell per column. */
type Row<Columns extends readonly unknown[]> = { readonly [Column in keyof Columns]: Stage | typeof NO }

/** All combinations of stage and event. A new stage or event does not compile until all its cells are defined. */
export const TRANSITIONS: Readonly<Record<Stage, Row<typeof EVENTS>>> = {
  disabled: ['primary', NO, NO, BOOT, NO, NO, NO, NO, NO, NO],
  primary: [NO, 'detached', 'disabled', NO, NO, NO, NO, NO, NO, NO],
  bootstrapping: [NO, NO, NO, NO, 'secondary', 'primary', 'disabled', BOOT, BOOT, BOOT],
  secondary: [NO, NO, NO, NO, NO, 'primary', 'disabled', 'secondary', 'detached', 'secondary'],
  detached: [NO, NO, NO, NO, NO, 'primary', 'disabled', 'secondary', 'detached', NO],
}

export const findTransition = (stage: Stage, event: Event): Stage | undefined => {
  const to = TRANSITIONS[stage][EVENTS.indexOf(event)]
  return to === NO ? undefined : to
}

/**
 * The kinds of replication that the license permits: `plus` permits performance replication only, `none` permits
 * neither.
 */
export type License = 'enterprise' | 'plus' | 'none'

export interface Facts {
  readonly stages: Readonly<Record<Kind, Stage>>
}

/** The replication progress of this cluster, for the checks that `force` skips. */
export interface SafetyFacts {
  /** False while the first or a later sync is incomplete. */
  readonly isSyncComplete: boolean
  readonly streamState: 'idle' | 'merkle-diff' | 'merkle-sync' | 'stream-wals'
  readonly isReindexing: boolean
  readonly appliedIndex: number
  readonly announcedIndex: number
  /** True if another primary has ended the epoch of the applied log, and no entry of that primary is applied yet. */
  readonly isBehindEpoch: boolean
  /**
   * The filter that withholds data from this cluster, for example `deny EU_data/`; undefined if it receives all data.
   */
  readonly filter: string | undefined
}

/** A step before the records change. It is undone if a later step or the change itself fails. */
export type Preparation =
  | { readonly do: 'fence-writes'; readonly kind: Kind }
  | { readonly do: 'drain'; readonly kind: Kind }
  | { readonly do: 'stop-following'; readonly kind: Kind }
  /** Lists the entries that a forced promotion discards. */
  | { readonly do: 'list-missing'; readonly kind: Kind; readonly safety: SafetyFacts }
  /** Lists the local entries that the new primary does not have. */
  | { readonly do: 'list-surplus'; readonly kind: Kind }
  | { readonly do: 'plant-dev-root' }

/** One change of the records of a role. All changes of a decision become durable together. */
export type RecordChange =
  | { readonly do: 'become-primary'; readonly kind: Kind; readonly set: 'new' | 'kept' }
  | { readonly do: 'start-epoch'; readonly kind: Kind }
  | { readonly do: 'take-place'; readonly kind: Kind }
  | { readonly do: 'become-detached'; readonly kind: Kind }
  | { readonly do: 'become-disabled'; readonly kind: Kind }
  | { readonly do: 'take-credentials'; readonly kind: Kind; readonly mode: 'bootstrapping' | 'secondary' }
  | { readonly do: 'become-secondary'; readonly kind: Kind }
  | { readonly do: 'take-addresses'; readonly kind: Kind }
  | { readonly do: 'delete-operation-token' }

/**
 * How the changes become durable: in one batch, or as the only remaining data after a wipe. This is the point of no
 * return: the role changes here, and everything after it can be derived from the records.
 */
type Ending = 'commit' | 'commit-and-restart' | 'wipe-and-restart'

/** The effects of an event, in this order. */
interface Effects {
  readonly prepare: readonly Preparation[]
  readonly change: readonly RecordChange[]
  readonly end: Ending
}

export interface Refusal {
  readonly ok: false
  readonly code: ErrorCode
  readonly reason: string
}

export interface Acceptance extends Effects {
  readonly ok: true
  readonly to: Stage
}

export type Decision = Acceptance | Refusal

export const refuse = (reason: string, code: ErrorCode = 'invalid-request'): Refusal => ({ ok: false, code, reason })

/**
 * Returns the decision for `event` in `stage`. By default, nothing is prepared, and the runtime restarts after the commit.
 * The caller must have handled every refusal with its own text.
 */
export const accept = (
  stage: Stage,
  event: Event,
  change: readonly RecordChange[],
  { prepare = [], end = 'commit-and-restart' }: Partial<Omit<Effects, 'change'>> = {},
): Decision => {
  const to = findTransition(stage, event)
  return to ? { ok: true, to, prepare, change, end } : refuse(`${event} is not possible while ${modeOf(stage)}`)
}

export const isSecondaryStage = (stage: Stage): boolean =>
  stage === 'secondary' || stage === 'bootstrapping' || stage === 'detached'

/** Returns true if the performance role is hidden, because the cluster is a DR secondary. */
export const isDormant = (kind: Kind, facts: Facts): boolean =>
  kind === 'performance' && isSecondaryStage(facts.stages.dr)
