import type { PositionMessage } from '../rpc/messages.js'
import { never, type StateTable, type Step, stay, to } from '../model/state-table.js'
import type { StreamState } from '../model/types.js'
import type { SyncSession } from './sync-sessions.js'

/** The filter of the last comparison, which the next offer of a session goes by. */
interface Compared {
  /** The filter that what the secondary has was compared under, by its fingerprint; undefined where that is not sure. */
  readonly under: string | undefined
}

/** Kept until the secondary has what was written since it was opened: it holds the log behind its snapshot. */
interface Holding {
  readonly session: SyncSession | undefined
}

interface Changing {
  /** The log index at which what is filtered changed since. */
  readonly changedAt: number | undefined
}

/** How the feeding of one secondary stands. SPEC.md has the table. */
export type Shipping =
  /** The stream was accepted; where the secondary stands is not looked up yet. */
  | ({ readonly is: 'opening' } & Changing)
  /** Frames flow, and what the secondary has applied counts. */
  | ({ readonly is: 'streaming' } & Compared & Holding)
  /** Frames flow up to a place, where everything is to be compared: until then nothing that is applied counts. */
  | ({ readonly is: 'filter-changed'; readonly at: number } & Compared & Holding)
  /** The secondary's data does not fit the log of this primary: the secondary is to compare. */
  | ({ readonly is: 'lost'; readonly reason: string } & Compared & Holding)
  /** A session is being opened, under the filter of the moment in which it is. */
  | ({ readonly is: 'offering' } & Compared)
  /** The session is offered under a filter; the secondary compares, and will say where it goes on. */
  | ({ readonly is: 'comparing'; readonly session: SyncSession; readonly filter: string } & Changing)
  /** The secondary has said where it goes on; the place is not looked up yet. */
  | ({
      readonly is: 'placed'
      readonly session: SyncSession
      readonly filter: string
      readonly start: PositionMessage
    } & Changing)
  | { readonly is: 'ended' }

export type ShippingEvent =
  /** Where the secondary said it stands: `isKnown` in our log, and under which filter it compared. */
  | { readonly on: 'opened'; readonly isKnown: boolean; readonly filter: string; readonly isOtherFilter: boolean }
  | { readonly on: 'filter-changed'; readonly at: number }
  /** `session` is the one that was offered to the secondary last, as far as it had heard then. */
  | { readonly on: 'place-lost'; readonly reason: string; readonly session: string }
  | { readonly on: 'resync' }
  | { readonly on: 'offered'; readonly session: SyncSession; readonly filter: string }
  | { readonly on: 'start'; readonly start: PositionMessage }
  | { readonly on: 'resumed' }
  | { readonly on: 'applied'; readonly index: number }
  | { readonly on: 'caught-up' }
  | { readonly on: 'ended' }

type ShippingEffect =
  /** Tells the registry what the secondary has. */
  | { readonly do: 'report'; readonly index: number; readonly state: StreamState }
  | { readonly do: 'close'; readonly session: SyncSession }

type Outcome = Step<Shipping, ShippingEffect>

/** Until it has compared, a secondary does not have what it was sent before. */
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
    opened: never,
    'filter-changed': streamUpTo,
    'place-lost': lose,
    resync: offer,
    offered: never,
    start: stay,
    resumed: never,
    applied: (state, { index }) => to(state, { do: 'report', index, state: 'stream-wals' }),
    'caught-up': release,
    ended: end,
  },
  'filter-changed': {
    opened: never,
    'filter-changed': streamUpTo,
    'place-lost': lose,
    resync: offer,
    offered: never,
    start: stay,
    resumed: never,
    applied: stay,
    'caught-up': release,
    ended: end,
  },
  lost: {
    opened: never,
    'filter-changed': (state) => to({ ...state, under: undefined }, COMPARING),
    'place-lost': lose,
    resync: offer,
    offered: (state, { session }) => to({ ...state, session }),
    start: stay,
    resumed: never,
    applied: stay,
    'caught-up': release,
    ended: end,
  },
  offering: {
    opened: never,
    'filter-changed': (state) => to({ ...state, under: undefined }, COMPARING),
    'place-lost': (_, { reason }) => to({ is: 'lost', reason, under: undefined, session: undefined }),
    resync: never,
    offered: (_, { session, filter }) => to({ is: 'comparing', session, filter, changedAt: undefined }),
    start: stay,
    resumed: never,
    applied: stay,
    'caught-up': never,
    ended: () => to({ is: 'ended' }),
  },
  comparing: {
    opened: never,
    'filter-changed': (state, { at }) => to({ ...state, changedAt: at }, COMPARING),
    // It lost its place by frames that came before this offer, which it takes next.
    'place-lost': (state, event) => (event.session === state.session.id ? lose(state, event) : stay(state)),
    resync: never,
    offered: never,
    start: (state, { start }) => to({ ...state, is: 'placed', start }),
    resumed: never,
    applied: stay,
    'caught-up': never,
    ended: end,
  },
  placed: {
    opened: never,
    'filter-changed': (state, { at }) => to({ ...state, changedAt: at }, COMPARING),
    'place-lost': lose,
    resync: ({ filter, session, changedAt }) => offer({ under: changedAt === undefined ? filter : undefined, session }),
    offered: never,
    start: (state, { start }) => to({ ...state, start }),
    resumed: ({ filter, session, start, changedAt }) =>
      changedAt === undefined
        ? to({ is: 'streaming', under: filter, session }, { do: 'report', index: start.index, state: 'stream-wals' })
        : to({ is: 'filter-changed', at: changedAt, under: undefined, session }),
    applied: stay,
    'caught-up': never,
    ended: end,
  },
  ended: {
    opened: never,
    'filter-changed': stay,
    'place-lost': stay,
    resync: never,
    offered: never,
    start: stay,
    resumed: never,
    applied: stay,
    'caught-up': never,
    ended: stay,
  },
}

/** Why the secondary is to compare at this place of the log; undefined while it is not. */
export const findResyncReason = (state: Shipping, cursor: number): string | undefined => {
  if (state.is === 'lost') return state.reason
  return state.is === 'filter-changed' && cursor >= state.at ? 'paths filter changed' : undefined
}
