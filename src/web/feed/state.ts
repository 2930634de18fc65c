import { type Sample, withSurvey } from '../curves/curves-of.js'
import type { PageEvent, PageSurvey } from '../../lab/web/page-facts.js'
import type { PageWork } from '../../lab/web/page-work.js'

/** The state of the page, and its changes by messages. The size of all its parts is limited. */
export interface PageState {
  readonly connection: 'connecting' | 'live' | 'lost' | 'ended' | 'full'
  readonly survey?: PageSurvey
  /** The reason why there is no lab. */
  readonly gone?: string
  /** Oldest first. */
  readonly events: readonly PageEvent[]
  /** Samples of the last 15 minutes, oldest first. */
  readonly samples: readonly Sample[]
  /** Current and past actions of the page, oldest first. */
  readonly works: readonly PageWork[]
}

export type PageMessage =
  | { readonly type: 'connection'; readonly is: PageState['connection'] }
  | { readonly type: 'survey'; readonly survey: PageSurvey }
  | { readonly type: 'events'; readonly events: readonly PageEvent[] }
  | { readonly type: 'work'; readonly work: PageWork }
  /** The connection is open. The server sends all known actions from the beginning. */
  | { readonly type: 'opened' }
  | { readonly type: 'gone'; readonly reason: string }
  | { readonly type: 'reset' }

export const BEGIN: PageState = { connection: 'connecting', events: [], works: [], samples: [] }

/** Returns true if the shown clusters may be out of date. */
export const isStale = ({ connection, gone }: PageState): boolean => connection !== 'live' || gone !== undefined

const EVENTS_KEPT = 1000
const WORKS_KEPT = 20

export const reduce = (state: PageState, message: PageMessage): PageState => {
  switch (message.type) {
    case 'connection':
      return state.connection === message.is ? state : { ...state, connection: message.is }
    case 'survey': {
      const { gone: _, ...rest } = state
      const { survey } = message
      return { ...rest, connection: 'live', survey, samples: withSurvey(state.samples, survey) }
    }
    case 'events':
      return { ...state, connection: 'live', events: join(state.events, message.events) }
    case 'work':
      return { ...state, works: withWork(state.works, message.work) }
    case 'opened':
      return { ...state, works: [] }
    case 'gone':
      return { ...state, connection: 'live', gone: message.reason }
    case 'reset':
      return { ...state, events: [], works: [] }
  }
}

const withWork = (works: readonly PageWork[], work: PageWork): readonly PageWork[] =>
  works.some(({ id }) => id === work.id)
    ? works.map((one) => (one.id === work.id ? work : one))
    : [...works, work].slice(-WORKS_KEPT)

/** Removes duplicates that arrive after a reconnection. */
const join = (known: readonly PageEvent[], more: readonly PageEvent[]): readonly PageEvent[] => {
  const last = known.at(-1)?.id ?? 0
  return [...known, ...more.filter(({ id }) => id > last)].slice(-EVENTS_KEPT)
}
