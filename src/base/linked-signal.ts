import type { Clock } from './clock.js'

interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal
}

/**
 * Returns a signal that is aborted with the first of these signals, until it is disposed. Use this if one of the
 * signals is long-lived and is linked thousands of times: Node 20 leaks memory for each `AbortSignal.any` as long as
 * the oldest of its signals lives.
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
 * Returns a signal that is aborted with another signal, if given, or after `ms` milliseconds with this error or an error
 * of this text.
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
