import { type StateTable, type Step, stay, to } from '../model/state-table.js'
import type { PrimaryPosition, StreamState, SyncProgress } from '../model/types.js'

/** The position applied from the primary's log; undefined if nothing was ever applied. */
interface Applied {
  readonly applied: PrimaryPosition | undefined
}

/** The state of a follower's data, which outlives the link. SPEC.md has the table. */
export type SyncState =
  | ({ readonly is: 'idle' } & Applied)
  | ({ readonly is: 'merkle-diff' } & Applied)
  | ({ readonly is: 'merkle-sync'; readonly progress: SyncProgress } & Applied)
  | ({ readonly is: 'stream-wals' } & Applied)

/**
 * The states that a follower enters explicitly. It enters `stream-wals` implicitly, when a position in its primary's log
 * is applied.
 */
export type EnteredState = Exclude<StreamState, 'stream-wals'>

export type SyncStateEvent =
  | { [State in EnteredState]: { readonly on: State } }[EnteredState]
  /** A primary that writes in this epoch has accepted this cluster. */
  | { readonly on: 'taken'; readonly epoch: string }
  /** Everything up to this position of the current primary's log is applied. */
  | { readonly on: 'applied'; readonly place: PrimaryPosition }
  | { readonly on: 'progress'; readonly progress: SyncProgress }

const NOTHING_DONE: SyncProgress = { totalKeys: 0, doneKeys: 0 }

type Outcome = Step<SyncState, never>

const idle = ({ applied }: Applied): Outcome => to({ is: 'idle', applied })
const diff = ({ applied }: Applied): Outcome => to({ is: 'merkle-diff', applied })
const sync = ({ applied }: Applied): Outcome => to({ is: 'merkle-sync', progress: NOTHING_DONE, applied })
const apply = (_: SyncState, { place }: { readonly place: PrimaryPosition }): Outcome =>
  to({ is: 'stream-wals', applied: place })

/**
 * Handles a new primary. The log of a primary in another epoch has its own indexes: the applied index is 0 until the
 * position in that log is known.
 */
const take = (state: SyncState, { epoch }: { readonly epoch: string }): Outcome =>
  state.applied?.epoch === epoch ? stay(state) : to({ is: 'merkle-diff', applied: { epoch, index: 0 } })

/** The cells that all states share, except where they have their own. */
const ROW = { idle, 'merkle-diff': diff, 'merkle-sync': sync, taken: take, applied: apply, progress: stay }

export const SYNC_STATES: StateTable<SyncState, SyncStateEvent, never> = {
  idle: { ...ROW, idle: stay },
  'merkle-diff': { ...ROW, 'merkle-diff': stay },
  'merkle-sync': { ...ROW, 'merkle-sync': stay, progress: (state, { progress }) => to({ ...state, progress }) },
  'stream-wals': ROW,
}

/** Returns the state of a follower whose store was just opened. */
export const initialSyncState = (applied: PrimaryPosition | undefined, isResyncing: boolean): SyncState => {
  if (applied) return { is: 'stream-wals', applied }
  return isResyncing ? { is: 'merkle-sync', progress: NOTHING_DONE, applied } : { is: 'merkle-diff', applied }
}
