import type { PageEvent, PageSurvey } from '../../lab/web/page-facts.js'
import type { PageJob } from '../../lab/web/page-job.js'
import { eventsBetween, type ServerStatus, surveyOf } from './server-status.js'
import type { PageMessage } from './state.js'

const EVENTS = '/_understudy/v1/events'

/** Time without a message after which the connection counts as lost. The server sends a message every second. */
const SILENCE_MS_MAX = 5000

/** Time before a new connection after the server has rejected one. */
const RECONNECT_MS = 3000

type Dispatch = (message: PageMessage) => void
/** Registers a handler for the server-sent events of a type. */
type On = <T>(type: string, handle: (value: T) => void) => void

/** Connects to `understudy web` and dispatches its messages until the returned function is called. */
export const connect = (dispatch: Dispatch): (() => void) =>
  listen(dispatch, (on, reconnectLater) => {
    on<PageSurvey>('survey', (survey) => dispatch({ type: 'survey', survey }))
    on<PageEvent[]>('events', (events) => dispatch({ type: 'events', events }))
    on<PageJob>('work', (work) => dispatch({ type: 'work', work }))
    on<{ reason: string }>('gone', ({ reason }) => dispatch({ type: 'gone', reason }))
    on<object>('reset', () => dispatch({ type: 'reset' }))
    on<object>('full', () => {
      reconnectLater()
      dispatch({ type: 'connection', is: 'full' })
    })
  })

/**
 * Connects to a server that reports its own status, until the returned function is called. The events of the page are
 * the differences between these reports.
 */
export const connectToServer = (dispatch: Dispatch): (() => void) => {
  let last: ServerStatus | undefined
  let count = 0
  return listen(dispatch, (on) =>
    on<ServerStatus>('look', (status) => {
      const events = last ? eventsBetween(last, status, count) : []
      count += events.length
      last = status
      dispatch({ type: 'survey', survey: surveyOf(status) })
      if (events.length > 0) dispatch({ type: 'events', events })
    }),
  )
}

/**
 * Receives server-sent events until the returned function is called, and reconnects after a connection is lost.
 * `register` adds the handlers of each new connection. With `reconnectLater`, a handler closes its connection.
 */
const listen = (dispatch: Dispatch, register: (on: On, reconnectLater: () => void) => void): (() => void) => {
  let source: EventSource | undefined
  let silenceTimer = 0
  let reconnectTimer = 0
  const reportLost = () => dispatch({ type: 'connection', is: 'lost' })
  const restartSilenceTimer = () => {
    window.clearTimeout(silenceTimer)
    silenceTimer = window.setTimeout(reportLost, SILENCE_MS_MAX)
  }
  const open = () => {
    const own = new EventSource(EVENTS)
    source = own
    const on: On = (type, handle) =>
      own.addEventListener(type, ({ data }: MessageEvent<string>) => {
        restartSilenceTimer()
        handle(JSON.parse(data))
      })
    const reopen = () => {
      reconnectTimer = window.setTimeout(open, RECONNECT_MS)
    }
    register(on, () => {
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
  restartSilenceTimer()
  return () => {
    window.clearTimeout(silenceTimer)
    window.clearTimeout(reconnectTimer)
    source?.close()
  }
}
