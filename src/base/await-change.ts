import type { Clock } from './clock.js'

interface Limits {
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

/**
 * Registers a listener with `watch`. Resolves to true when the listener is called and `isDone` returns true, or to
 * false after the timeout. Rejects with the signal's reason if the signal is aborted first.
 */
export const awaitChange = (
  watch: (listener: () => void) => () => void,
  isDone: () => boolean,
  { clock, timeoutMs, signal }: Limits,
): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const end = () => {
      timer.cancel()
      unwatch()
      signal?.removeEventListener('abort', onAbort)
    }
    const finish = (isInTime: boolean) => {
      end()
      resolve(isInTime)
    }
    const onAbort = () => {
      end()
      reject(signal?.reason)
    }
    const timer = clock.setTimer(timeoutMs, () => finish(false))
    const unwatch = watch(() => {
      if (isDone()) finish(true)
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })

/** Resolves at the first call of the listener that `watch` registers, or when the signal is aborted. */
export const nextChange = (watch: (listener: () => void) => () => void, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      unwatch()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const unwatch = watch(done)
    if (signal.aborted) done()
    else signal.addEventListener('abort', done)
  })

/** Settles like the promise, or rejects with the signal's reason if the signal is aborted first. */
export const unlessAborted = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
