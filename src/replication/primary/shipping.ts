import type { PositionMessage } from '../rpc/messages.js'
import { never, type StateTable, type Step, stay, to } from '../model/state-table.js'
import type { StreamState } from '../model/types.js'
import type { SyncSession } from './sync-sessions.js'

/** The filter of the last comparison. The next session offer states whether the current filter differs from it. */
interface Compared {
  /** Fingerprint of the filter under which the secondary's data was compared; undefined if unknown. */
  readonly under: string | undefined
}

/**
 * The session of the last comparison. It pins the log after its snapshot. It is therefore kept until everything that
 * was written since the session was opened is sent.
 */
interface Holding {
  readonly session: SyncSession | undefined
}

interface Changing {
  /** The log index at which the filtered keys changed since the stream opened or the session was offered. */
  readonly changedAt: number | undefined
}

/** State of the stream to one secondary. SPEC.md has the table. */
export type Shipping =
  /** The stream is accepted. The secondary's position is not looked up yet. */
  | ({ readonly is: 'opening' } & Changing)
  /** Frames are sent, and applied positions are reported. */
  | ({ readonly is: 'streaming' } & Compared & Holding)
  /**
   * Frames are sent up to an index at which all data must be compared. Until then, applied positions are not reported.
   */
  | ({ readonly is: 'filter-changed'; readonly at: number } & Compared & Holding)
  /** The secondary's data does not match this primary's log, so the secondary must compare. */
  | ({ readonly is: 'lost'; readonly reason: string } & Compared & Holding)
  /** A session is being opened under the current filter. */
  | ({ readonly is: 'offering' } & Compared)
  /** A session is offered under a filter. The secondary compares and will send its new position. */
  | ({ readonly is: 'comparing'; readonly session: SyncSession; readonly filter: string } & Changing)
  /** The secondary has sent its new position, which is not looked up yet. */
  | ({
      readonly is: 'placed'
      readonly session: SyncSession
      readonly filter: string
      readonly start: PositionMessage
    } & Changing)
  | { readonly is: 'ended' }

export type ShippingEvent =
  /**
   * The position that the secondary sent was looked up. `isKnown`: this log contains it. `filter`: the filter of the
   * secondary's last comparison.
   */
  | { readonly on: 'opened'; readonly isKnown: boolean; readonly filter: string; readonly isOtherFilter: boolean }
  | { readonly on: 'filter-changed'; readonly at: number }
  /** `session`: the last session offer that the secondary had received. */
  | { readonly on: 'place-lost'; readonly reason: string; readonly session: string }
  | { readonly on: 'resync' }
  | { readonly on: 'offered'; readonly session: SyncSession; readonly filter: string }
  | { readonly on: 'start'; readonly start: PositionMessage }
  | { readonly on: 'resumed' }
  | { readonly on: 'applied'; readonly index: number }
  | { readonly on: 'caught-up' }
  | { readonly on: 'ended' }

type ShippingEffect =
  /** Reports the secondary's applied position to the registry. */
  | { readonly do: 'report'; readonly index: number; readonly state: StreamState }
  | { readonly do: 'close'; readonly session: SyncSession }

type Outcome = Step<Shipping, ShippingEffect>

/** Reported while the secondary compares: it may lack data that was sent before. */
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

/** The cells that all states share after the first, except where they have their own. */
const OPENED_ROW = { opened: never, offered: never, start: stay, resumed: never, applied: stay }

/** The cells that the states share in which frames are sent and no comparison is under way. */
const SENDING_ROW = { ...OPENED_ROW, 'place-lost': lose, resync: offer, 'caught-up': release, ended: end }

/** The cells that the states of a comparison share. */
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
    // An event with an older session refers to frames before this offer. The secondary receives the offer next.
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

/** Returns the reason why the secondary must compare at this log position; undefined if no comparison is needed. */
export const findResyncReason = (state: Shipping, cursor: number): string | undefined => {
  if (state.is === 'lost') return state.reason
  return state.is === 'filter-changed' && cursor >= state.at ? 'paths filter changed' : undefined
}
