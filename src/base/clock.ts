/**
 * A timer that can be canceled. No file except this one reads the wall clock or sets a timer, so a whole topology can
 * run in virtual time.
 */
export interface Timer {
  cancel(): void
}

/**
 * The clock of the system or of a lab, passed to all code that uses time. All times are in milliseconds.
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
  /** Returns the wall-clock time in milliseconds since the epoch. */
  now(): number
  /** Returns the monotonic time in milliseconds, with a fraction. For measuring durations. */
  monotonic(): number
  /** Runs `fn` once after `ms`. Timers do not keep the process alive. */
  setTimer(ms: number, fn: () => void): Timer
  /** Runs `fn` every `ms` until the timer is canceled. */
  setRepeating(ms: number, fn: () => void): Timer
  /** Resolves after `ms`. Rejects with the signal's reason if the signal is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The maximum timeout of Node, in milliseconds. A longer timeout fires immediately. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1

/**
 * The clock of this machine. Its timers do not keep the process alive, but its sleeps do.
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

/** Timers for sleeps. They keep the process alive, because a caller awaits the sleep. */
const awaitedTimers: Pick<Clock, 'setTimer'> = {
  setTimer(ms, fn) {
    const handle = setTimeout(fn, Math.min(Math.max(ms, 0), TIMEOUT_MS_MAX))
    return { cancel: () => clearTimeout(handle) }
  },
}

/** Implements `sleep` of a clock with its `setTimer`. */
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

/** Returns a clock whose wall-clock time is that of `clock` plus `skewMs()`. Durations and timers are unchanged. */
export const skewedClock = (clock: Clock, skewMs: () => number): Clock => ({
  now: () => clock.now() + skewMs(),
  monotonic: () => clock.monotonic(),
  setTimer: (ms, fn) => clock.setTimer(ms, fn),
  setRepeating: (ms, fn) => clock.setRepeating(ms, fn),
  sleep: (ms, signal) => clock.sleep(ms, signal),
})
