import type { PageEvent, PageSurvey } from '../../lab/web/page-facts.js'
import type { PageWork } from '../../lab/web/page-work.js'
import { eventsBetween, type OwnLook, surveyOf } from './own-look.js'
import type { PageMessage } from './state.js'

const EVENTS = '/_understudy/v1/events'

/** A message arrives each second, so the server counts as unresponsive after this time. */
const SILENT_MS = 5000

const AGAIN_MS = 3000

type Dispatch = (message: PageMessage) => void
/** Registers a handler for the messages of a type. */
type On = <T>(type: string, take: (value: T) => void) => void

/** Dispatches the messages of `understudy web` until the returned function is called. */
export const connect = (dispatch: Dispatch): (() => void) =>
  listen(dispatch, (on, pause) => {
    on<PageSurvey>('survey', (survey) => dispatch({ type: 'survey', survey }))
    on<PageEvent[]>('events', (events) => dispatch({ type: 'events', events }))
    on<PageWork>('work', (work) => dispatch({ type: 'work', work }))
    on<{ reason: string }>('gone', ({ reason }) => dispatch({ type: 'gone', reason }))
    on<object>('reset', () => dispatch({ type: 'reset' }))
    on<object>('full', () => {
      pause()
      dispatch({ type: 'connection', is: 'full' })
    })
  })

/** Connects to a server that reports its own status. Events are the differences between its messages. */
export const connectToServer = (dispatch: Dispatch): (() => void) => {
  let last: OwnLook | undefined
  let count = 0
  return listen(dispatch, (on) =>
    on<OwnLook>('look', (look) => {
      const events = last ? eventsBetween(last, look, count) : []
      count += events.length
      last = look
      dispatch({ type: 'survey', survey: surveyOf(look) })
      if (events.length > 0) dispatch({ type: 'events', events })
    }),
  )
}

/** Listens until the returned function is called. Reconnects after a connection is lost. */
const listen = (dispatch: Dispatch, attach: (on: On, pause: () => void) => void): (() => void) => {
  let source: EventSource | undefined
  let silence = 0
  let again = 0
  const lost = () => dispatch({ type: 'connection', is: 'lost' })
  const heard = () => {
    window.clearTimeout(silence)
    silence = window.setTimeout(lost, SILENT_MS)
  }
  const open = () => {
    const own = new EventSource(EVENTS)
    source = own
    const on: On = (type, take) =>
      own.addEventListener(type, ({ data }: MessageEvent<string>) => {
        heard()
        take(JSON.parse(data))
      })
    const reopen = () => {
      again = window.setTimeout(open, AGAIN_MS)
    }
    attach(on, () => {
      own.close()
      reopen()
    })
    own.onopen = () => dispatch({ type: 'opened' })
    own.onerror = () => {
      // The browser retries a lost connection, but not a request that got an error response.
      const isRefused = own.readyState === EventSource.CLOSED
      dispatch({ type: 'connection', is: isRefused ? 'ended' : 'lost' })
      if (isRefused) reopen()
    }
  }
  open()
  heard()
  return () => {
    window.clearTimeout(silence)
    window.clearTimeout(again)
    source?.close()
  }
}
