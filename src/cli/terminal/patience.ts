import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Clock } from '../../base/clock.js'
import { listenToWaits } from '../../base/waits.js'
import type { ProcessOutput } from './output.js'

const LOOK_MS = 200
const SILENT_MS = 1000
const SILENT_MS_MAX = 10_000

/**
 * Reports what a command waits for: after one second without output, prints a line on standard error. A wait is
 * reported again when it changes, otherwise at increasing intervals. With `isVerbose`, every HTTP call is printed,
 * without headers, bodies and queries, because they may contain secrets.
 */
export const reportWaits = (output: ProcessOutput, clock: Clock, isVerbose: boolean): Disposable => {
  const waiting = listenToWaits()
  const calls = listenToCalls(clock, isVerbose ? (line) => output.complain(line) : undefined)
  const begun = clock.monotonic()
  let said = ''
  let dueMs = SILENT_MS
  output.lastOutputMs = begun
  const look = () => {
    const silentMs = clock.monotonic() - output.lastOutputMs
    const text = describeWait([...waiting.waits].at(-1)) ?? calls.oldest()
    if (text === undefined || silentMs < SILENT_MS) return
    if (text === said && silentMs < dueMs) return
    dueMs = text === said ? Math.min(dueMs * 2, SILENT_MS_MAX) : SILENT_MS * 2
    said = text
    output.progress(`waiting for ${text}`)
  }
  const timer = clock.setRepeating(LOOK_MS, look)
  return {
    [Symbol.dispose]() {
      timer.cancel()
      calls[Symbol.dispose]()
      waiting[Symbol.dispose]()
    },
  }
}

const describeWait = (wait: { what: string; missing: string } | undefined): string | undefined =>
  wait && (wait.missing === '' ? wait.what : `${wait.what}: ${wait.missing}`)

const STARTS = 'http.client.request.start'
const ANSWERED = 'http.client.response.finish'

const listenToCalls = (clock: Clock, print: ((line: string) => void) | undefined) => {
  const begun = new Map<ClientRequest, number>()
  const onStart = (message: unknown) => {
    const { request } = message as { request: ClientRequest }
    begun.set(request, clock.monotonic())
    request.once('close', () => begun.delete(request))
  }
  const onAnswer = (message: unknown) => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage }
    // A streaming response never completes, so it is never late.
    if (response.headers['content-type'] === 'application/x-ndjson') begun.delete(request)
    const tookMs = clock.monotonic() - (begun.get(request) ?? clock.monotonic())
    print?.(`${describeCall(request)}: ${response.statusCode} after ${tookMs.toFixed(0)} ms`)
  }
  subscribe(STARTS, onStart)
  subscribe(ANSWERED, onAnswer)
  return {
    /** The oldest pending call. */
    oldest: (): string | undefined => {
      const [request] = begun.keys()
      return request && `a response to ${describeCall(request)}`
    },
    [Symbol.dispose]() {
      unsubscribe(STARTS, onStart)
      unsubscribe(ANSWERED, onAnswer)
    },
  }
}

const describeCall = (request: ClientRequest): string =>
  `${request.method} ${request.protocol}//${request.getHeader('host') ?? request.host}${request.path.split('?')[0]}`
