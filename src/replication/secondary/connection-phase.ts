import type { PrimaryConnection } from '../rpc/transport.js'
import { never, type StateTable, type Step, to } from '../model/state-table.js'
import type { ConnectionState, RefusalCode } from '../model/types.js'

/** The last reason of the primary to refuse this cluster. A later attempt replaces it. */
interface Refused {
  readonly refusal: RefusalCode | undefined
}

/** If `redial` is aborted, the attempt or the connection ends, and this does not count as a failure. */
interface Redialled {
  readonly redial: AbortController
}

/** The state of the connection of a follower to its primary. SPEC.md has the table of the transitions. */
export type ConnectionPhase =
  | { readonly is: 'unstarted' }
  /** One address is being tried. `shown` is the result of earlier attempts, shown until an attempt succeeds. */
  | ({ readonly is: 'dialling'; readonly shown: 'connecting' | 'transient_failure' } & Refused & Redialled)
  /** The primary has accepted this cluster. */
  | ({ readonly is: 'connected'; readonly connection: PrimaryConnection } & Redialled)
  /** The attempt or the connection has ended. The next step is not decided yet. */
  | ({ readonly is: 'ended'; readonly shown: ConnectionState } & Refused & Redialled)
  /** All addresses failed. */
  | ({ readonly is: 'waiting' } & Refused)
  | ({ readonly is: 'over' } & Refused)

export type ConnectionEvent =
  | { readonly on: 'dial'; readonly redial: AbortController }
  | { readonly on: 'accepted'; readonly connection: PrimaryConnection }
  /** An attempt or the connection has ended. */
  | { readonly on: 'ended'; readonly refusal: RefusalCode | undefined }
  | { readonly on: 'wait' }
  | { readonly on: 'stop' }

/** Tells the follower that no more data will arrive from this primary. The local data keeps its position. */
interface ConnectionEffect {
  readonly do: 'stand-still'
}

type Outcome = Step<ConnectionPhase, ConnectionEffect>

const wait = ({ refusal }: Refused): Outcome => to({ is: 'waiting', refusal })

const refuse = (redial: AbortController, refusal: RefusalCode): Outcome => {
  const ended: ConnectionPhase = { is: 'ended', shown: 'transient_failure', refusal, redial }
  return refusal === 'revoked' || refusal === 'rewound' ? to(ended, { do: 'stand-still' }) : to(ended)
}

const stop = ({ refusal }: Refused): Outcome => to({ is: 'over', refusal })

/** Common cells: most events are impossible in most states. */
const UNEXPECTED = { dial: never, accepted: never, ended: never, wait: never, stop: never }

export const CONNECTION_PHASES: StateTable<ConnectionPhase, ConnectionEvent, ConnectionEffect> = {
  unstarted: {
    ...UNEXPECTED,
    dial: (_, { redial }) => to({ is: 'dialling', shown: 'connecting', refusal: undefined, redial }),
    wait: () => to({ is: 'waiting', refusal: undefined }),
    stop: () => to({ is: 'over', refusal: undefined }),
  },
  dialling: {
    ...UNEXPECTED,
    accepted: ({ redial }, { connection }) => to({ is: 'connected', connection, redial }),
    ended: ({ shown, refusal: before, redial }, { refusal }) =>
      refusal === undefined ? to({ is: 'ended', shown, refusal: before, redial }) : refuse(redial, refusal),
  },
  connected: {
    ...UNEXPECTED,
    ended: ({ redial }, { refusal }) =>
      refusal === undefined ? to({ is: 'ended', shown: 'ready', refusal, redial }) : refuse(redial, refusal),
  },
  ended: {
    ...UNEXPECTED,
    dial: ({ shown, refusal }, { redial }) =>
      to({ is: 'dialling', shown: shown === 'transient_failure' ? shown : 'connecting', refusal, redial }),
    wait,
    stop,
  },
  waiting: {
    ...UNEXPECTED,
    dial: ({ refusal }, { redial }) => to({ is: 'dialling', shown: 'transient_failure', refusal, redial }),
    wait,
    stop,
  },
  over: { ...UNEXPECTED, stop },
}

/** Returns the state of the connection with the names of the status endpoints. */
export const shownAs = (state: ConnectionPhase): ConnectionState => {
  switch (state.is) {
    case 'unstarted':
      return 'idle'
    case 'dialling':
    case 'ended':
      return state.shown
    case 'connected':
      return 'ready'
    case 'waiting':
      return 'transient_failure'
    case 'over':
      return 'shutdown'
  }
}

export const refusalIn = (state: ConnectionPhase): RefusalCode | undefined =>
  'refusal' in state ? state.refusal : undefined

export const isRedialled = (state: ConnectionPhase): boolean => 'redial' in state && state.redial.signal.aborted
