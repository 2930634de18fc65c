import type { PageEvent, PageSurvey, PageWork } from '../../lab/web/page-facts.js'
import { eventsBetween, type OwnLook, surveyOf } from './own-look.js'
import type { PageMessage } from './state.js'

const EVENTS = '/_understudy/v1/events'

/** Something comes each second: who says nothing for so long does not answer. */
const SILENT_MS = 5000

const AGAIN_MS = 3000

type Dispatch = (message: PageMessage) => void
/** Has a function called with whatever comes under a name. */
type On = <T>(type: string, take: (value: T) => void) => void

/** Hands on what `understudy web` sends, until the returned function is called. */
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

/** The same of a server that tells of itself: what happens is what has changed since it said something last. */
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

/** Listens until the returned function is called. A connection that is lost is made again. */
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
      // A connection that was refused is tried again by the browser; one that was answered with an error is not.
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
