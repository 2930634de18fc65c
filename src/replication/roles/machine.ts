import type { ErrorCode } from '../../logical/errors.js'
import type { Kind } from '../types.js'

/**
 * The roles of a cluster for one kind of replication, what can happen to it, and where that leads. SPEC.md tells the
 * story; this table is the law. Pure: nothing here reads a record or a clock.
 */

/** A role as the API shows it. */
export type Mode = 'disabled' | 'bootstrapping' | 'primary' | 'secondary'

/** A role as the machine sees it: `detached` is a secondary without credentials, which follows nobody. */
export type Stage = Mode | 'detached'

const modeOf = (stage: Stage): Mode => (stage === 'detached' ? 'secondary' : stage)

export type Event =
  | 'enable-primary'
  | 'demote'
  | 'disable-primary'
  | 'enable-secondary'
  | 'finish-bootstrap'
  | 'promote'
  | 'disable-secondary'
  | 'update-primary'
  | 'forget-primary'
  | 'update-addresses'

type Row = Readonly<Record<Event, Stage | 'rejected'>>

const NOTHING: Row = {
  'enable-primary': 'rejected',
  demote: 'rejected',
  'disable-primary': 'rejected',
  'enable-secondary': 'rejected',
  'finish-bootstrap': 'rejected',
  promote: 'rejected',
  'disable-secondary': 'rejected',
  'update-primary': 'rejected',
  'forget-primary': 'rejected',
  'update-addresses': 'rejected',
}

export const TRANSITIONS: Readonly<Record<Stage, Row>> = {
  disabled: { ...NOTHING, 'enable-primary': 'primary', 'enable-secondary': 'bootstrapping' },
  primary: { ...NOTHING, demote: 'detached', 'disable-primary': 'disabled' },
  bootstrapping: {
    ...NOTHING,
    'finish-bootstrap': 'secondary',
    promote: 'primary',
    'disable-secondary': 'disabled',
    'update-primary': 'bootstrapping',
    'update-addresses': 'bootstrapping',
  },
  secondary: {
    ...NOTHING,
    promote: 'primary',
    'disable-secondary': 'disabled',
    'update-primary': 'secondary',
    'forget-primary': 'detached',
    'update-addresses': 'secondary',
  },
  detached: {
    ...NOTHING,
    promote: 'primary',
    'disable-secondary': 'disabled',
    'update-primary': 'secondary',
    'forget-primary': 'detached',
  },
}

/** What this server may do. `plus` has performance replication only, `none` has neither kind. */
export type License = 'enterprise' | 'plus' | 'none'

/** What every decision looks at. */
export interface Facts {
  readonly stages: Readonly<Record<Kind, Stage>>
}

/**
 * One step towards a new role. Those before `commit` change the drafts of the records; `commit` makes all of them durable
 * in one batch and is the only point at which the role changes; what follows it can be derived again from the record.
 */
export type Effect =
  | { readonly do: 'become-primary'; readonly kind: Kind; readonly set: 'new' | 'kept' }
  | { readonly do: 'start-epoch'; readonly kind: Kind }
  | { readonly do: 'take-place'; readonly kind: Kind }
  | { readonly do: 'become-detached'; readonly kind: Kind }
  | { readonly do: 'become-disabled'; readonly kind: Kind }
  | { readonly do: 'take-credentials'; readonly kind: Kind; readonly mode: 'bootstrapping' | 'secondary' }
  | { readonly do: 'become-secondary'; readonly kind: Kind }
  | { readonly do: 'take-addresses'; readonly kind: Kind }
  | { readonly do: 'list-losses'; readonly kind: Kind }
  | { readonly do: 'delete-operation-token' }
  | { readonly do: 'commit' }
  | { readonly do: 'wipe-and-restart' }
  | { readonly do: 'restart' }

export interface Refusal {
  readonly ok: false
  readonly code: ErrorCode
  readonly reason: string
}

interface Acceptance {
  readonly ok: true
  readonly to: Stage
  readonly effects: readonly Effect[]
}

export type Decision = Acceptance | Refusal

export const refuse = (reason: string, code: ErrorCode = 'invalid-request'): Refusal => ({ ok: false, code, reason })

/** Where `event` leads from `stage`; the caller has answered every refusal with its own text before. */
export const accept = (stage: Stage, event: Event, effects: readonly Effect[]): Decision => {
  const to = TRANSITIONS[stage][event]
  return to === 'rejected' ? refuse(`${event} is not possible while ${modeOf(stage)}`) : { ok: true, to, effects }
}

export const isSecondaryStage = (stage: Stage): boolean =>
  stage === 'secondary' || stage === 'bootstrapping' || stage === 'detached'

/** While a cluster is a DR secondary its performance role is only kept for later. */
export const isDormant = (kind: Kind, facts: Facts): boolean =>
  kind === 'performance' && isSecondaryStage(facts.stages.dr)
