/**
 * Time as an injected capability. Nothing outside this file reads the wall clock or sets a timer, so that a whole
 * topology can run in virtual time.
 */
export interface Timer {
  cancel(): void
}

/**
 * Time as a capability that is handed in: of the system, or of a lab. All times are milliseconds.
 *
 * @example
 * import { type Clock, startLab, systemClock } from 'understudy-lab'
 *
 * const hoursBetween = (one: Clock, other: Clock): number => (other.now() - one.now()) / 3_600_000
 * await using lab = await startLab('single')
 * lab.clock.advance('2h')
 * console.log(Math.round(hoursBetween(systemClock, lab.clock))) // 2
 */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. */
  now(): number
  /** Monotonic time in milliseconds with a fraction, for durations. */
  monotonic(): number
  /** Runs `fn` once after `ms`. Timers never keep the process alive. */
  setTimer(ms: number, fn: () => void): Timer
  /** Runs `fn` every `ms` until cancelled. */
  setRepeating(ms: number, fn: () => void): Timer
  /** Resolves after `ms`, or rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Node cannot hold a longer timeout; a longer one fires at once. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1

/**
 * The time of this machine. Its timers never keep the process alive, its sleeps do.
 *
 * @example
 * import { systemClock } from 'understudy-lab'
 *
 * const began = systemClock.monotonic()
 * await systemClock.sleep(50, AbortSignal.timeout(1_000))
 * console.log(systemClock.monotonic() - began >= 50)
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(ms, fn) {
    const handle = setTimeout(fn, Math.min(Math.max(ms, 0), TIMEOUT_MS_MAX))
    handle.unref()
    return { cancel: () => clearTimeout(handle) }
  },
  setRepeating(ms, fn) {
    const handle = setInterval(fn, Math.min(Math.max(ms, 1), TIMEOUT_MS_MAX))
    handle.unref()
    return { cancel: () => clearInterval(handle) }
  },
  sleep(ms, signal) {
    return sleepWith(awaitedTimers, ms, signal)
  },
}

/** Somebody waits for a sleep to end, so it keeps the process alive. */
const awaitedTimers: Pick<Clock, 'setTimer'> = {
  setTimer(ms, fn) {
    const handle = setTimeout(fn, Math.min(Math.max(ms, 0), TIMEOUT_MS_MAX))
    return { cancel: () => clearTimeout(handle) }
  },
}

/** `clock.sleep` for any clock, made of its `setTimer`. */
export const sleepWith = (clock: Pick<Clock, 'setTimer'>, ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason)
      return
    }
    const onAbort = () => {
      timer.cancel()
      reject(signal?.reason)
    }
    const timer = clock.setTimer(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })

/** A clock that shows another clock's time shifted by `skewMs()`; timers are not shifted. */
export const skewedClock = (clock: Clock, skewMs: () => number): Clock => ({
  now: () => clock.now() + skewMs(),
  monotonic: () => clock.monotonic(),
  setTimer: (ms, fn) => clock.setTimer(ms, fn),
  setRepeating: (ms, fn) => clock.setRepeating(ms, fn),
  sleep: (ms, signal) => clock.sleep(ms, signal),
})
