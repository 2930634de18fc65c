import type { Clock, Timer } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Storage } from '../../logical/storage.js'

/** The number of rows handled concurrently; their writes share durable batches. */
const CHUNK = 64
/** Minimum pause between passes. Expired tokens are rejected anyway; the sweep only frees storage. */
const PAUSE_MS = 1000
/** Maximum pause between passes, and the pause after a failed pass. */
const IDLE_MS = 60_000
/** The number of digits of a time in a key. 15 digits are enough for every date. */
const DIGITS = 15
/** The time of a row that is never due. */
export const NEVER_MS = 10 ** DIGITS - 1

/** Formats a time in milliseconds so that keys sort by time. */
export const printDue = (ms: number): string => String(ms).padStart(DIGITS, '0')

/** Parses the time of a row, and returns the rest of its name after the time and a dot. */
export const parseDue = (name: string): { readonly timeMs: number; readonly rest: string } => ({
  timeMs: Number(name.slice(0, DIGITS)),
  rest: name.slice(DIGITS + 1),
})

export interface DueSweepOptions {
  readonly storage: Storage
  /** The prefix of the rows. The rest of a row's key begins with `printDue` of its time. */
  readonly prefix: string
  /** Handles a due row. The row must then be deleted or due later. */
  readonly handle: (key: string, timeMs: number) => Promise<void>
  /** Returns true while due rows must stay. */
  readonly isPaused?: () => boolean
  readonly clock: Clock
  readonly log: Log
  /** The message to log if a pass fails. */
  readonly failure: string
}

/**
 * Handles rows at their time, oldest first, using an index in the database. Memory use is independent of the number of
 * rows, and startup reads nothing.
 */
export class DueSweep {
  readonly #options: DueSweepOptions
  #signal: AbortSignal | undefined
  #timer: Timer | undefined
  #wakeAtMs = Number.POSITIVE_INFINITY
  #running: Promise<void> | undefined

  constructor(options: DueSweepOptions) {
    this.#options = options
  }

  /** Runs until the signal is aborted. Rows left by a crash are handled immediately. */
  start(signal: AbortSignal): void {
    this.#signal = signal
    signal.addEventListener('abort', () => this.#timer?.cancel(), { once: true })
    this.#sleepUntil(this.#options.clock.now())
  }

  /** Schedules a pass for a row that is due at `timeMs`, in milliseconds since the epoch. */
  noteDue(timeMs: number): void {
    if (timeMs < this.#wakeAtMs && !this.#running) this.#sleepUntil(timeMs)
  }

  /** Handles all rows that are due by now. A call during a pass waits for that pass. */
  run(): Promise<void> {
    this.#running ??= this.#pass().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Resolves when no pass is in progress. */
  async settled(): Promise<void> {
    await this.#running?.catch(() => undefined)
  }

  #sleepUntil(timeMs: number): void {
    if (!this.#signal || this.#signal.aborted) return
    const { clock } = this.#options
    this.#timer?.cancel()
    this.#wakeAtMs = Math.min(timeMs, clock.now() + IDLE_MS)
    this.#timer = clock.setTimer(this.#wakeAtMs - clock.now(), () => void this.#wake())
  }

  async #wake(): Promise<void> {
    const { clock, log, failure } = this.#options
    try {
      await this.run()
      if (this.#signal?.aborted) return
      this.#sleepUntil(Math.max(await this.#nextMs(), clock.now() + PAUSE_MS))
    } catch (error) {
      if (this.#signal?.aborted) return
      log.warn(failure, { error })
      this.#sleepUntil(clock.now() + IDLE_MS)
    }
  }

  async #nextMs(): Promise<number> {
    const [first] = await this.#options.storage.keys(this.#options.prefix, { limit: 1 })
    return first === undefined ? Number.POSITIVE_INFINITY : this.#timeOf(first)
  }

  async #pass(): Promise<void> {
    const { storage, prefix, clock, handle, isPaused } = this.#options
    while (!isPaused?.()) {
      const keys = await storage.keys(prefix, { limit: CHUNK })
      // The mounts of a closing cluster are closed, which must not look like a failure of a row.
      if (this.#signal?.aborted) return
      const due = keys.filter((key) => this.#timeOf(key) <= clock.now())
      await Promise.all(due.map((key) => handle(key, this.#timeOf(key))))
      if (due.length < CHUNK) return
    }
  }

  #timeOf(key: string): number {
    return parseDue(key.slice(this.#options.prefix.length)).timeMs
  }
}
