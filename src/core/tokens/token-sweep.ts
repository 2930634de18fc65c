import type { Clock, Timer } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { parseTimeKey, TOKEN_KEYS } from './token-record.js'
import type { TokenRevocation } from './token-revocation.js'
import type { TokenTable } from './token-table.js'

/** The number of tokens removed concurrently; their writes share durable batches. */
const CHUNK = 64
/** Minimum pause between passes. Expired tokens are rejected anyway; the sweep only frees storage. */
const PAUSE_MS = 1000
/** Maximum pause between passes, and the pause after a failed pass. */
const IDLE_MS = 60_000

interface TokenSweepOptions {
  readonly table: TokenTable
  readonly revocation: TokenRevocation
  readonly clock: Clock
  readonly log: Log
}

/**
 * Removes expired tokens, oldest first, using the expiry index in the database. Memory use is independent of the number
 * of tokens, and startup reads nothing.
 */
export class TokenSweep {
  readonly #options: TokenSweepOptions
  #signal: AbortSignal | undefined
  #timer: Timer | undefined
  #wakeAtMs = Number.POSITIVE_INFINITY
  #running: Promise<void> | undefined

  constructor(options: TokenSweepOptions) {
    this.#options = options
  }

  /** Runs until the signal is aborted. Tokens left by a crash are swept immediately. */
  start(signal: AbortSignal): void {
    this.#signal = signal
    signal.addEventListener('abort', () => this.#timer?.cancel(), { once: true })
    this.#sleepUntil(this.#options.clock.now())
  }

  /** Schedules a pass for a token that expires at `timeMs`, in milliseconds since the epoch. */
  noteEnd(timeMs: number): void {
    if (timeMs < this.#wakeAtMs && !this.#running) this.#sleepUntil(timeMs)
  }

  /** Removes all tokens that have expired by now. A call during a pass waits for that pass. */
  run(): Promise<void> {
    this.#running ??= this.#pass().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  #sleepUntil(timeMs: number): void {
    if (!this.#signal || this.#signal.aborted) return
    const { clock } = this.#options
    this.#timer?.cancel()
    this.#wakeAtMs = Math.min(timeMs, clock.now() + IDLE_MS)
    this.#timer = clock.setTimer(this.#wakeAtMs - clock.now(), () => void this.#wake())
  }

  async #wake(): Promise<void> {
    const { clock, log } = this.#options
    try {
      await this.run()
      if (this.#signal?.aborted) return
      this.#sleepUntil(Math.max(await this.#nextEndMs(), clock.now() + PAUSE_MS))
    } catch (error) {
      if (this.#signal?.aborted) return
      log.warn('expired tokens could not be removed', { error })
      this.#sleepUntil(clock.now() + IDLE_MS)
    }
  }

  async #nextEndMs(): Promise<number> {
    const [first] = await this.#options.table.storage.keys(TOKEN_KEYS.times, { limit: 1 })
    return first === undefined ? Number.POSITIVE_INFINITY : parseTimeKey(first).timeMs
  }

  async #pass(): Promise<void> {
    const { table, clock } = this.#options
    for (;;) {
      const keys = await table.storage.keys(TOKEN_KEYS.times, { limit: CHUNK })
      const due = keys.filter((key) => parseTimeKey(key).timeMs <= clock.now())
      await Promise.all(due.map((key) => this.#remove(key)))
      if (due.length < CHUNK || this.#signal?.aborted) return
    }
  }

  /** Revokes the token of a due row. If the token no longer refers to the row, deletes the row only. */
  async #remove(key: string): Promise<void> {
    const { table, revocation } = this.#options
    const { timeMs, storageId } = parseTimeKey(key)
    const isCurrent = table.read(table.storage, storageId)?.sweepAtMs === timeMs
    if (isCurrent) await revocation.revokeTree(storageId)
    else await table.storage.write((tx) => tx.delete(key))
  }
}
