import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Clock } from '../../base/clock.js'
import { listenToProgress, type Step, type Wait } from '../../base/progress.js'
import { mark } from '../../lab/drills/summary.js'
import type { ProcessOutput } from './output.js'

const REFRESH_MS = 100
/** Time without output after which the output names what the command waits for. */
const SILENCE_MS = 1000
/** Maximum interval between two lines about the same wait. */
const REPEAT_MS_MAX = 10_000

const FRAMES = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏']

/**
 * Shows the progress of a command on standard error. On a terminal, each running step is a row with its time below the
 * output, and a line with its result when it ends. Otherwise, each completed step is one line. After one second without
 * output, also names what the command waits for: on a terminal as a row, otherwise as a line, which is repeated at
 * increasing intervals. With `isVerbose`, prints every HTTP call without headers, bodies and queries, which may contain
 * secrets.
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
    refresh()
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
  let printed = ''
  let repeatAfterMs = SILENCE_MS
  let frame = 0
  const refresh = () => {
    const silentMs = clock.monotonic() - output.lastOutputMs
    const awaited = silentMs < SILENCE_MS ? undefined : (describeWait([...waits].at(-1)) ?? calls.oldest())
    const text = awaited === undefined ? undefined : `waiting for ${awaited}`
    if (output.isLive) {
      frame = (frame + 1) % FRAMES.length
      const rows = [...steps.keys()].map((step) => `${FRAMES[frame]} ${timeOf(step)}  ${describeStep(step)}`)
      return output.showRows(text === undefined ? rows : [...rows, text])
    }
    if (text === undefined || (text === printed && silentMs < repeatAfterMs)) return
    repeatAfterMs = text === printed ? Math.min(repeatAfterMs * 2, REPEAT_MS_MAX) : SILENCE_MS * 2
    printed = text
    output.progress(text)
  }
  const timer = clock.setRepeating(REFRESH_MS, refresh)
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

/** Diagnostics channels of Node for outgoing HTTP requests. */
const REQUEST_START = 'http.client.request.start'
const RESPONSE_FINISH = 'http.client.response.finish'

/** Tracks the pending HTTP requests of this process. Calls `print` with a line for each completed one. */
const listenToCalls = (clock: Clock, print: ((line: string) => void) | undefined) => {
  const begun = new Map<ClientRequest, number>()
  const answered = new WeakSet<ClientRequest>()
  const printEnd = (request: ClientRequest, result: string) => {
    const tookMs = clock.monotonic() - (begun.get(request) ?? clock.monotonic())
    print?.(`${describeCall(request)}: ${result} after ${tookMs.toFixed(0)} ms`)
  }
  const onStart = (message: unknown) => {
    const { request } = message as { request: ClientRequest }
    begun.set(request, clock.monotonic())
    request.once('close', () => {
      if (!answered.has(request)) printEnd(request, 'no response')
      begun.delete(request)
    })
  }
  const onFinish = (message: unknown) => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage }
    answered.add(request)
    // A streaming response stays open, so it does not count as pending.
    printEnd(request, String(response.statusCode))
    if (response.headers['content-type'] === 'application/x-ndjson') begun.delete(request)
  }
  subscribe(REQUEST_START, onStart)
  subscribe(RESPONSE_FINISH, onFinish)
  return {
    /**
     * Describes the oldest pending call if it takes longer than a second. Shorter calls do not count: during a drill,
     * some call of its clients is always pending.
     */
    oldest: (): string | undefined => {
      const [[request, begunMs] = []] = begun
      const isLate = begunMs !== undefined && clock.monotonic() - begunMs >= SILENCE_MS
      return request && isLate ? `a response to ${describeCall(request)}` : undefined
    },
    [Symbol.dispose]() {
      unsubscribe(REQUEST_START, onStart)
      unsubscribe(RESPONSE_FINISH, onFinish)
    },
  }
}

const describeCall = (request: ClientRequest): string =>
  `${request.method} ${request.protocol}//${request.getHeader('host') ?? request.host}${request.path.split('?')[0]}`
