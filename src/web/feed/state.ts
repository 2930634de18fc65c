import type { PageEvent, PageLink, PageSurvey } from '../../lab/web/page-facts.js'

/** Everything that the page knows, and how it changes with what it is sent. Nothing in it grows without bound. */
export interface PageState {
  readonly connection: 'connecting' | 'live' | 'lost' | 'ended'
  readonly survey?: PageSurvey
  /** Why there is no lab. */
  readonly gone?: string
  /** Oldest first. */
  readonly events: readonly PageEvent[]
  /** Whom each follower, by kind and name, followed when that could last be told. */
  readonly primaries: Readonly<Record<string, string>>
}

export type PageMessage =
  | { readonly type: 'connection'; readonly is: PageState['connection'] }
  | { readonly type: 'survey'; readonly survey: PageSurvey }
  | { readonly type: 'events'; readonly events: readonly PageEvent[] }
  | { readonly type: 'gone'; readonly reason: string }
  | { readonly type: 'reset' }

export const BEGIN: PageState = { connection: 'connecting', events: [], primaries: {} }

const EVENTS_KEPT = 500

export const reduce = (state: PageState, message: PageMessage): PageState => {
  switch (message.type) {
    case 'connection':
      return state.connection === message.is ? state : { ...state, connection: message.is }
    case 'survey': {
      const { gone: _, ...rest } = state
      const { survey } = message
      return { ...rest, connection: 'live', survey, primaries: primariesAfter(state, survey) }
    }
    case 'events':
      return { ...state, connection: 'live', events: join(state.events, message.events) }
    case 'gone':
      return { ...state, connection: 'live', gone: message.reason }
    case 'reset':
      return { ...state, events: [], primaries: {} }
  }
}

/** What came twice, since the connection broke in between, is there once. */
const join = (known: readonly PageEvent[], more: readonly PageEvent[]): readonly PageEvent[] => {
  const last = known.at(-1)?.id ?? 0
  return [...known, ...more.filter(({ id }) => id > last)].slice(-EVENTS_KEPT)
}

export const followerKey = ({ kind, secondary }: Pick<PageLink, 'kind' | 'secondary'>): string => `${kind} ${secondary}`

/** A primary that does not answer is remembered for as long as somebody would follow it. */
const primariesAfter = ({ primaries }: PageState, { links }: PageSurvey): PageState['primaries'] =>
  Object.fromEntries(
    links.flatMap((link) => {
      const primary = link.primary ?? primaries[followerKey(link)]
      return primary === undefined ? [] : [[followerKey(link), primary]]
    }),
  )
