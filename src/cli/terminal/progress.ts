import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Clock } from '../../base/clock.js'
import { listenToProgress, type Step, type Wait } from '../../base/progress.js'
import { mark } from '../../lab/drills/summary.js'
import type { ProcessOutput } from './output.js'

const LOOK_MS = 100
const SILENT_MS = 1000
const SILENT_MS_MAX = 10_000

const FRAMES = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏']

/**
 * Shows the progress of a command on standard error. On a terminal, each running step is a row with its time below the
 * output, and a line with its state when it ends. Elsewhere, each completed step is one line. After one second without
 * output, also shows what the command waits for: on a terminal as a row, elsewhere as a line that is repeated when it
 * changes, otherwise at increasing intervals. With `isVerbose`, every HTTP call is printed, without headers, bodies and
 * queries, because they may contain secrets.
 */
export const reportProgress = (output: ProcessOutput, clock: Clock, isVerbose: boolean): Disposable => {
  const waits = new Set<Wait>()
  const steps = new Map<Step, number>()
  const calls = listenToCalls(clock, isVerbose ? (line) => output.complain(line) : undefined)
  const timeOf = (step: Step): string => `${((clock.monotonic() - (steps.get(step) ?? 0)) / 1000).toFixed(1)} s`
  const end = (step: Step) => {
    const { title, result } = step
    if (!output.isLive) {
      if (result) output.progress(result)
    } else if (result !== '') output.progress(`${mark(result !== undefined)} ${timeOf(step)}  ${result ?? title}`)
    steps.delete(step)
    look()
  }
  const listening = listenToProgress((event) => {
    switch (event.on) {
      case 'wait-begins':
        return void waits.add(event.wait)
      case 'wait-ends':
        return void waits.delete(event.wait)
      case 'step-begins':
        return void steps.set(event.step, clock.monotonic())
      case 'step-ends':
        return end(event.step)
      case 'note':
        return output.progress(event.text)
    }
  })
  output.lastOutputMs = clock.monotonic()
  let said = ''
  let dueMs = SILENT_MS
  let frame = 0
  const look = () => {
    const silentMs = clock.monotonic() - output.lastOutputMs
    const awaited = silentMs < SILENT_MS ? undefined : (describeWait([...waits].at(-1)) ?? calls.oldest())
    const text = awaited === undefined ? undefined : `waiting for ${awaited}`
    if (output.isLive) {
      frame = (frame + 1) % FRAMES.length
      const rows = [...steps.keys()].map((step) => `${FRAMES[frame]} ${timeOf(step)}  ${describeStep(step)}`)
      return output.showRows(text === undefined ? rows : [...rows, text])
    }
    if (text === undefined || (text === said && silentMs < dueMs)) return
    dueMs = text === said ? Math.min(dueMs * 2, SILENT_MS_MAX) : SILENT_MS * 2
    said = text
    output.progress(text)
  }
  const timer = clock.setRepeating(LOOK_MS, look)
  return {
    [Symbol.dispose]() {
      timer.cancel()
      calls[Symbol.dispose]()
      listening[Symbol.dispose]()
      output.showRows([])
    },
  }
}

const describeStep = ({ title, detail }: Step): string => (detail === '' ? title : `${title}: ${detail}`)

const describeWait = (wait: Wait | undefined): string | undefined =>
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
    /** The oldest call that has been pending for a second. The clients of a drill always have calls. */
    oldest: (): string | undefined => {
      const [[request, begunMs] = []] = begun
      const isLate = begunMs !== undefined && clock.monotonic() - begunMs >= SILENT_MS
      return request && isLate ? `a response to ${describeCall(request)}` : undefined
    },
    [Symbol.dispose]() {
      unsubscribe(STARTS, onStart)
      unsubscribe(ANSWERED, onAnswer)
    },
  }
}

const describeCall = (request: ClientRequest): string =>
  `${request.method} ${request.protocol}//${request.getHeader('host') ?? request.host}${request.path.split('?')[0]}`
