import type { Clock } from './clock.js'

interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal
}

/**
 * A signal that is aborted with the first of these, until it is disposed of. Where one of them outlives what is done, thousands
 * of times over: of each `AbortSignal.any` Node 20 keeps a trace for as long as the oldest of its signals lives.
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

/** One that is aborted with a signal, or with an error of this text when so many milliseconds have passed. */
export const limitSignal = (clock: Clock, ms: number, signal: AbortSignal, text: string): LinkedSignal => {
  const late = new AbortController()
  const timer = clock.setTimer(ms, () => late.abort(new Error(text)))
  const linked = linkSignals([signal, late.signal])
  return {
    signal: linked.signal,
    [Symbol.dispose]() {
      timer.cancel()
      linked[Symbol.dispose]()
    },
  }
}
