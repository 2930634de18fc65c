import type { PageEvent, PageSurvey, PageWork } from '../../lab/web/page-facts.js'
import type { PageMessage } from './state.js'

const EVENTS = '/_understudy/v1/events'

/** Something comes each second: who says nothing for so long does not answer. */
const SILENT_MS = 5000

const AGAIN_MS = 3000

/** Hands on what the server sends, until the returned function is called. A connection that is lost is made again. */
export const connect = (dispatch: (message: PageMessage) => void): (() => void) => {
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
    const on = <T>(type: string, make: (value: T) => PageMessage) =>
      own.addEventListener(type, ({ data }: MessageEvent<string>) => {
        heard()
        dispatch(make(JSON.parse(data) as T))
      })
    on<PageSurvey>('survey', (survey) => ({ type: 'survey', survey }))
    on<PageEvent[]>('events', (events) => ({ type: 'events', events }))
    on<PageWork>('work', (work) => ({ type: 'work', work }))
    on<{ reason: string }>('gone', ({ reason }) => ({ type: 'gone', reason }))
    on<object>('reset', () => ({ type: 'reset' }))
    on<object>('full', () => {
      own.close()
      again = window.setTimeout(open, AGAIN_MS)
      return { type: 'connection', is: 'full' }
    })
    own.onopen = () => dispatch({ type: 'opened' })
    own.onerror = () => {
      // A connection that was refused is tried again by the browser; one that was answered with an error is not.
      const isRefused = own.readyState === EventSource.CLOSED
      dispatch({ type: 'connection', is: isRefused ? 'ended' : 'lost' })
      if (isRefused) again = window.setTimeout(open, AGAIN_MS)
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
