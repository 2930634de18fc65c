import { type StateTable, type Step, stay, to } from '../model/state-table.js'
import type { PrimaryPosition, StreamState, SyncProgress } from '../model/types.js'

/** The applied position in the primary's log; undefined if nothing was ever applied. */
interface Applied {
  readonly applied: PrimaryPosition | undefined
}

/** The state of the data of a follower, which outlives the connection. SPEC.md has the table of the transitions. */
export type SyncState =
  | ({ readonly is: 'idle' } & Applied)
  | ({ readonly is: 'merkle-diff' } & Applied)
  | ({ readonly is: 'merkle-sync'; readonly progress: SyncProgress } & Applied)
  | ({ readonly is: 'stream-wals' } & Applied)

/**
 * The states that a follower enters explicitly. It enters `stream-wals` when the position in the current primary's log
 * is known.
 */
export type EnteredState = Exclude<StreamState, 'stream-wals'>

export type SyncStateEvent =
  | { [State in EnteredState]: { readonly on: State } }[EnteredState]
  /** A primary of this epoch has accepted this cluster. */
  | { readonly on: 'taken'; readonly epoch: string }
  /** All entries up to this position of the current primary's log are applied. */
  | { readonly on: 'applied'; readonly position: PrimaryPosition }
  | { readonly on: 'progress'; readonly progress: SyncProgress }

const NOTHING_DONE: SyncProgress = { totalKeys: 0, doneKeys: 0 }

type Outcome = Step<SyncState, never>

const idle = ({ applied }: Applied): Outcome => to({ is: 'idle', applied })
const diff = ({ applied }: Applied): Outcome => to({ is: 'merkle-diff', applied })
const sync = ({ applied }: Applied): Outcome => to({ is: 'merkle-sync', progress: NOTHING_DONE, applied })
const apply = (_: SyncState, { position }: { readonly position: PrimaryPosition }): Outcome =>
  to({ is: 'stream-wals', applied: position })

/**
 * Handles the acceptance by a primary. Another epoch has another log, so the applied index is 0 until the position in
 * this log is known.
 */
const take = (state: SyncState, { epoch }: { readonly epoch: string }): Outcome =>
  state.applied?.epoch === epoch ? stay(state) : to({ is: 'merkle-diff', applied: { epoch, index: 0 } })

/** The common cells of all states. A state can replace some of them. */
const ROW = { idle, 'merkle-diff': diff, 'merkle-sync': sync, taken: take, applied: apply, progress: stay }

export const SYNC_STATES: StateTable<SyncState, SyncStateEvent, never> = {
  idle: { ...ROW, idle: stay },
  'merkle-diff': { ...ROW, 'merkle-diff': stay },
  'merkle-sync': { ...ROW, 'merkle-sync': stay, progress: (state, { progress }) => to({ ...state, progress }) },
  'stream-wals': ROW,
}

/** Returns the initial state for a store that was just opened. */
export const initialSyncState = (applied: PrimaryPosition | undefined, isResyncing: boolean): SyncState => {
  if (applied) return { is: 'stream-wals', applied }
  return isResyncing ? { is: 'merkle-sync', progress: NOTHING_DONE, applied } : { is: 'merkle-diff', applied }
}
