import { type Sample, withSurvey } from '../curves/curves-of.js'
import type { PageEvent, PageSurvey } from '../../lab/web/page-facts.js'
import type { PageJob } from '../../lab/web/page-job.js'

/** The state of the page, which `reduce` changes. Every list in it has a maximum length. */
export interface PageState {
  readonly connection: 'connecting' | 'live' | 'lost' | 'ended' | 'full'
  readonly survey?: PageSurvey
  /** The reason why there is no lab. */
  readonly gone?: string
  /** Oldest first. */
  readonly events: readonly PageEvent[]
  /** Samples of the last 15 minutes, oldest first. */
  readonly samples: readonly Sample[]
  /** The current and past jobs of the page, oldest first. A job is one run of an action. */
  readonly jobs: readonly PageJob[]
}

export type PageMessage =
  | { readonly type: 'connection'; readonly is: PageState['connection'] }
  | { readonly type: 'survey'; readonly survey: PageSurvey }
  | { readonly type: 'events'; readonly events: readonly PageEvent[] }
  | { readonly type: 'work'; readonly work: PageJob }
  /** The connection is open. The server sends all known jobs again. */
  | { readonly type: 'opened' }
  | { readonly type: 'gone'; readonly reason: string }
  /** Another lab has replaced the lab, so the events and jobs of the page no longer apply. */
  | { readonly type: 'reset' }

export const INITIAL_STATE: PageState = { connection: 'connecting', events: [], jobs: [], samples: [] }

/** Returns true if the shown clusters may be out of date. */
export const isStale = ({ connection, gone }: PageState): boolean => connection !== 'live' || gone !== undefined

const EVENTS_MAX = 1000
const JOBS_MAX = 20

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
      return { ...state, connection: 'live', events: append(state.events, message.events) }
    case 'work':
      return { ...state, jobs: withJob(state.jobs, message.work) }
    case 'opened':
      return { ...state, jobs: [] }
    case 'gone':
      return { ...state, connection: 'live', gone: message.reason }
    case 'reset':
      return { ...state, events: [], jobs: [] }
  }
}

const withJob = (jobs: readonly PageJob[], work: PageJob): readonly PageJob[] =>
  jobs.some(({ id }) => id === work.id)
    ? jobs.map((one) => (one.id === work.id ? work : one))
    : [...jobs, work].slice(-JOBS_MAX)

/** Appends events. Omits known ones, which the server sends again after a reconnection. */
const append = (known: readonly PageEvent[], more: readonly PageEvent[]): readonly PageEvent[] => {
  const last = known.at(-1)?.id ?? 0
  return [...known, ...more.filter(({ id }) => id > last)].slice(-EVENTS_MAX)
}
