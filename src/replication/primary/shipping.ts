import type { PositionMessage } from '../rpc/messages.js'
import { never, type StateTable, type Step, stay, to } from '../model/state-table.js'
import type { StreamState } from '../model/types.js'
import type { SyncSession } from './sync-sessions.js'

/**
 * The filter of the last comparison. The next offer of a session states whether the current filter differs from this
 * filter.
 */
interface Compared {
  /** Fingerprint of the filter of the last comparison; undefined if it is unknown. */
  readonly under: string | undefined
}

/**
 * The session of the last comparison. It pins the log after its snapshot, so it stays open until everything that was
 * written since its start is sent.
 */
interface Holding {
  readonly session: SyncSession | undefined
}

interface Changing {
  /**
   * The log index at which the filtered keys changed after the stream was opened or the session was offered; undefined
   * if they did not.
   */
  readonly changedAt: number | undefined
}

/** State of the stream to one secondary. SPEC.md has the table of the transitions. */
export type Shipping =
  /** The stream is accepted. The position of the secondary was not looked up yet. */
  | ({ readonly is: 'opening' } & Changing)
  /** Frames are sent, and applied positions are reported to the registry. */
  | ({ readonly is: 'streaming' } & Compared & Holding)
  /** Frames are sent up to the index `at`. Then, all data is compared. Until then, no applied position is reported. */
  | ({ readonly is: 'filter-changed'; readonly at: number } & Compared & Holding)
  /** The data of the secondary does not match this primary's log, so the secondary must compare its data. */
  | ({ readonly is: 'lost'; readonly reason: string } & Compared & Holding)
  /** A session is being opened under the current filter. */
  | ({ readonly is: 'offering' } & Compared)
  /** A session with this filter is offered. The secondary compares its data and then sends its new position. */
  | ({ readonly is: 'comparing'; readonly session: SyncSession; readonly filter: string } & Changing)
  /** The secondary has sent its new position, which was not looked up yet. */
  | ({
      readonly is: 'placed'
      readonly session: SyncSession
      readonly filter: string
      readonly start: PositionMessage
    } & Changing)
  | { readonly is: 'ended' }

export type ShippingEvent =
  /**
   * The position of the secondary was looked up. `isKnown`: this log contains it. `filter`: the filter of the
   * secondary's last comparison.
   */
  | { readonly on: 'opened'; readonly isKnown: boolean; readonly filter: string; readonly isOtherFilter: boolean }
  | { readonly on: 'filter-changed'; readonly at: number }
  /** The secondary reported that its data does not match. `session` is the last session offer that it had received. */
  | { readonly on: 'place-lost'; readonly reason: string; readonly session: string }
  | { readonly on: 'resync' }
  | { readonly on: 'offered'; readonly session: SyncSession; readonly filter: string }
  | { readonly on: 'start'; readonly start: PositionMessage }
  | { readonly on: 'resumed' }
  | { readonly on: 'applied'; readonly index: number }
  | { readonly on: 'caught-up' }
  | { readonly on: 'ended' }

type ShippingEffect =
  /** Reports the applied position of the secondary to the registry. */
  | { readonly do: 'report'; readonly index: number; readonly state: StreamState }
  | { readonly do: 'close'; readonly session: SyncSession }

type Outcome = Step<Shipping, ShippingEffect>

/** Report for a secondary that compares its data, because it may lack data that was sent before. */
const COMPARING: ShippingEffect = { do: 'report', index: 0, state: 'merkle-diff' }

const closing = ({ session }: Holding): readonly ShippingEffect[] => (session ? [{ do: 'close', session }] : [])

const end = (state: Holding): Outcome => to({ is: 'ended' }, ...closing(state))

const streamUpTo = ({ session }: Holding, { at }: { readonly at: number }): Outcome =>
  to({ is: 'filter-changed', at, under: undefined, session }, COMPARING)

const lose = ({ session }: Holding, { reason }: { readonly reason: string }): Outcome =>
  to({ is: 'lost', reason, under: undefined, session })

const offer = (state: Compared & Holding): Outcome =>
  to({ is: 'offering', under: state.under }, COMPARING, ...closing(state))

const release = <State extends Holding & Shipping>(state: State): Outcome =>
  state.session ? to({ ...state, session: undefined }, ...closing(state)) : stay(state)

/** The common cells of all states after `opening`. A state can replace some of them. */
const OPENED_ROW = { opened: never, offered: never, start: stay, resumed: never, applied: stay }

/** The common cells of states in which frames are sent and no comparison is running. */
const SENDING_ROW = { ...OPENED_ROW, 'place-lost': lose, resync: offer, 'caught-up': release, ended: end }

/** The common cells of the states of a comparison. */
const COMPARING_ROW = { ...OPENED_ROW, resync: never, 'caught-up': never, ended: end }

export const SHIPPING: StateTable<Shipping, ShippingEvent, ShippingEffect> = {
  opening: {
    opened: ({ changedAt }, { isKnown, filter: under, isOtherFilter }) => {
      if (!isKnown) return to({ is: 'lost', reason: 'non-matching guard', under, session: undefined })
      const at = isOtherFilter ? 0 : changedAt
      return to(
        at === undefined
          ? { is: 'streaming', under, session: undefined }
          : { is: 'filter-changed', at, under, session: undefined },
      )
    },
    'filter-changed': (state, { at }) => to({ ...state, changedAt: at }, COMPARING),
    'place-lost': never,
    resync: never,
    offered: never,
    start: never,
    resumed: never,
    applied: never,
    'caught-up': never,
    ended: () => to({ is: 'ended' }),
  },
  streaming: {
    ...SENDING_ROW,
    'filter-changed': streamUpTo,
    applied: (state, { index }) => to(state, { do: 'report', index, state: 'stream-wals' }),
  },
  'filter-changed': { ...SENDING_ROW, 'filter-changed': streamUpTo },
  lost: {
    ...SENDING_ROW,
    'filter-changed': (state) => to({ ...state, under: undefined }, COMPARING),
    offered: (state, { session }) => to({ ...state, session }),
  },
  offering: {
    ...COMPARING_ROW,
    'filter-changed': (state) => to({ ...state, under: undefined }, COMPARING),
    'place-lost': (_, { reason }) => to({ is: 'lost', reason, under: undefined, session: undefined }),
    offered: (_, { session, filter }) => to({ is: 'comparing', session, filter, changedAt: undefined }),
    ended: () => to({ is: 'ended' }),
  },
  comparing: {
    ...COMPARING_ROW,
    'filter-changed': (state, { at }) => to({ ...state, changedAt: at }, COMPARING),
    // An event with an older session refers to frames before this offer. The secondary will receive the offer.
    'place-lost': (state, event) => (event.session === state.session.id ? lose(state, event) : stay(state)),
    start: (state, { start }) => to({ ...state, is: 'placed', start }),
  },
  placed: {
    ...COMPARING_ROW,
    'filter-changed': (state, { at }) => to({ ...state, changedAt: at }, COMPARING),
    'place-lost': lose,
    resync: ({ filter, session, changedAt }) => offer({ under: changedAt === undefined ? filter : undefined, session }),
    start: (state, { start }) => to({ ...state, start }),
    resumed: ({ filter, session, start, changedAt }) =>
      changedAt === undefined
        ? to({ is: 'streaming', under: filter, session }, { do: 'report', index: start.index, state: 'stream-wals' })
        : to({ is: 'filter-changed', at: changedAt, under: undefined, session }),
  },
  ended: { ...OPENED_ROW, 'filter-changed': stay, 'place-lost': stay, resync: never, 'caught-up': never, ended: stay },
}

/** Returns the reason why the secondary must compare its data at this log position, or undefined if it need not. */
export const findResyncReason = (state: Shipping, cursor: number): string | undefined => {
  if (state.is === 'lost') return state.reason
  return state.is === 'filter-changed' && cursor >= state.at ? 'paths filter changed' : undefined
}
