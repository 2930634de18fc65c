import { never, type StateTable, stay, to } from '../model/state-table.js'
import type { PurgeStage } from './purge-mark.js'

/** State of the search for filtered data that must be marked or destroyed. SPEC.md has the table of the transitions. */
export type Looking =
  | { readonly is: 'idle' }
  /** A search is scheduled. It will find all data that exists when it begins. */
  | { readonly is: 'due' }
  | { readonly is: 'looking' }
  /** A search is running, and another search was requested after its begin. */
  | { readonly is: 'looking-again' }

type LookingEvent = { readonly on: 'asked' } | { readonly on: 'begun' } | { readonly on: 'ended' }

interface LookingEffect {
  readonly do: 'look'
}

export const LOOKING: StateTable<Looking, LookingEvent, LookingEffect> = {
  idle: { asked: () => to({ is: 'due' }, { do: 'look' }), begun: never, ended: never },
  due: { asked: stay, begun: () => to({ is: 'looking' }), ended: never },
  looking: { asked: () => to({ is: 'looking-again' }, { do: 'look' }), begun: never, ended: () => to({ is: 'idle' }) },
  'looking-again': { asked: stay, begun: never, ended: () => to({ is: 'due' }) },
}

/** Progress of the destruction of filtered data, in addition to the stage in the mark on disk. */
export type Destruction =
  /** The destruction was not requested since the current mark was written. */
  | { readonly is: 'open' }
  /**
   * The destruction was requested after all filtered data was deleted, and the move to a new generation may be running.
   * Data that is deleted from now on needs another mark.
   */
  | { readonly is: 'asked' }
  /** More filtered data was found after the request. The mark at the time of the request does not cover this data. */
  | { readonly is: 'outdated' }

/** Events of the destruction. `stage` is the stage in the mark on disk; undefined without a mark. */
export type DestructionEvent =
  | { readonly on: 'deletion-ahead'; readonly stage: PurgeStage | undefined }
  | { readonly on: 'found'; readonly stage: PurgeStage | undefined }
  | { readonly on: 'gone' }
  | { readonly on: 'lifted' }
  /** The mark for the found data was written. */
  | { readonly on: 'marked' }
  /** The mark before a deletion could not be written. */
  | { readonly on: 'not-marked' }

export type DestructionEffect =
  | { readonly do: 'mark'; readonly stage: PurgeStage }
  | { readonly do: 'unmark' }
  | { readonly do: 'destroy' }

const OPEN: Destruction = { is: 'open' }
const OUTDATED: Destruction = { is: 'outdated' }

const markDeleted = () => to(OPEN, { do: 'mark', stage: 'deleted' } as const)
const markAnew = (_: Destruction, { stage = 'hidden' }: { readonly stage: PurgeStage | undefined }) =>
  to(OUTDATED, { do: 'mark', stage } as const)
const destroy = () => to<Destruction, DestructionEffect>({ is: 'asked' }, { do: 'destroy' })
const unmark = (state: Destruction) => to(state, { do: 'unmark' } as const)

/** Common cells of the states whose mark does not cover further data. */
const ANEW = {
  'deletion-ahead': markDeleted,
  found: markAnew,
  gone: destroy,
  lifted: unmark,
  'not-marked': stay,
}

export const DESTRUCTION: StateTable<Destruction, DestructionEvent, DestructionEffect> = {
  open: {
    'deletion-ahead': (state, { stage }) => (stage === 'deleted' ? stay(state) : markDeleted()),
    found: (state, { stage }) => (stage ? stay(state) : to(OPEN, { do: 'mark', stage: 'hidden' })),
    gone: destroy,
    lifted: unmark,
    marked: stay,
    'not-marked': () => to(OUTDATED),
  },
  asked: { ...ANEW, marked: stay },
  outdated: { ...ANEW, marked: () => to(OPEN) },
}
