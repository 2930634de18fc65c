import type { ErrorCode } from '../../logical/errors.js'
import type { Kind } from './types.js'

/**
 * The roles of a cluster for one kind of replication, the events, and the resulting transitions. SPEC.md explains them,
 * but this table decides. The functions of this file are pure: they read no records and no clock.
 */

/** A role as the API shows it. */
export type Mode = 'disabled' | 'bootstrapping' | 'primary' | 'secondary'

/** A role as the state machine uses it. `detached` is a secondary without credentials, thus without a primary. */
export type Stage = Mode | 'detached'

const modeOf = (stage: Stage): Mode => (stage === 'detached' ? 'secondary' : stage)

/** The events, in the order of the columns of `TRANSITIONS`. */
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

/** One row of `TRANSITIONS`: the next stage for each event. */
type Row<Columns extends readonly unknown[]> = { readonly [Column in keyof Columns]: Stage | typeof NO }

/** The next stage for each stage and event. Without a cell for each stage and event, the code does not compile. */
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
 * The kinds of replication that the license permits. `enterprise`: both. `plus`: performance replication only. `none`:
 * neither.
 */
export type License = 'enterprise' | 'plus' | 'none'

export interface Facts {
  readonly stages: Readonly<Record<Kind, Stage>>
}

/** The replication progress of this cluster. Unless `force` is set, a promotion depends on it. */
export interface SafetyFacts {
  /** False while the first or a later sync is incomplete. */
  readonly isSyncComplete: boolean
  readonly streamState: 'idle' | 'merkle-diff' | 'merkle-sync' | 'stream-wals'
  readonly isReindexing: boolean
  readonly appliedIndex: number
  readonly announcedIndex: number
  /** True if the epoch of the applied log has ended, and no entry of the next epoch is applied yet. */
  readonly isBehindEpoch: boolean
  /** Text of the filter that withholds data from this cluster, such as `deny EU_data/`; undefined without one. */
  readonly filter: string | undefined
}

/** A step before the role records change. The step is undone if a later step or the change itself fails. */
export type Preparation =
  | { readonly do: 'fence-writes'; readonly kind: Kind }
  | { readonly do: 'drain'; readonly kind: Kind }
  | { readonly do: 'stop-following'; readonly kind: Kind }
  /** Records the entries that a forced promotion discards. */
  | { readonly do: 'list-missing'; readonly kind: Kind; readonly safety: SafetyFacts }
  /** Records the local entries that the new primary does not have. */
  | { readonly do: 'list-surplus'; readonly kind: Kind }
  | { readonly do: 'plant-dev-root' }

/** One change of the role records. All changes of a decision are committed together. */
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
 * How the changes are committed: in one batch, or as the only remaining data after a wipe. The role changes with this
 * commit. Everything afterwards can be derived from the records.
 */
type Ending = 'commit' | 'commit-and-restart' | 'wipe-and-restart'

/** The effects of an event, in the order of execution. */
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
 * Accepts `event` in `stage` with these effects. By default, nothing is prepared, and the runtime restarts after the
 * commit. Refuses the event if `TRANSITIONS` does not allow it. Callers must check refusals with specific texts first.
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

/** Returns true if the performance role is hidden because the cluster is a DR secondary. */
export const isDormant = (kind: Kind, facts: Facts): boolean =>
  kind === 'performance' && isSecondaryStage(facts.stages.dr)
