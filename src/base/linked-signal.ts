import { setMaxListeners } from 'node:events'
import type { Clock } from './clock.js'

interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal
}

/** Returns a controller whose signal any number of requests can listen to, without a warning of Node. */
export const sharedAbortController = (): AbortController => {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

/**
 * Returns a signal that is aborted when the first of the given signals is aborted, until it is disposed. For signals
 * that live long and are linked thousands of times: in Node 20, each `AbortSignal.any` takes memory for as long as the
 * oldest of its signals lives.
 */
export const linkSignals = (signals: readonly AbortSignal[]): LinkedSignal => {
  const own = new AbortController()
  const aborts = signals.map((signal) => [signal, () => own.abort(signal.reason)] as const)
  for (const [signal, abort] of aborts) {
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  }
  return {
    signal: own.signal,
    [Symbol.dispose]() {
      for (const [signal, abort] of aborts) signal.removeEventListener('abort', abort)
    },
  }
}

/**
 * Returns a signal that is aborted when `signal` is aborted, or after `ms` milliseconds. The reason after that time is
 * `late`, or an error with the text `late`.
 */
export const limitSignal = (
  clock: Clock,
  ms: number,
  signal: AbortSignal | undefined,
  late: Error | string,
): LinkedSignal => {
  const limit = new AbortController()
  const timer = clock.setTimer(ms, () => limit.abort(typeof late === 'string' ? new Error(late) : late))
  const linked = linkSignals(signal ? [signal, limit.signal] : [limit.signal])
  return {
    signal: linked.signal,
    [Symbol.dispose]() {
      timer.cancel()
      linked[Symbol.dispose]()
    },
  }
}
