import type { Clock, Timer } from '../../base/clock.js'
import { Listeners } from '../../base/listeners.js'
import type { Entry } from '../engine/engine.js'
import { OwnLease } from './own-lease.js'
import { positionOf } from './raw-batch.js'
import { LeadershipLost, type Leadership, type LogPosition, LogRefused, OutcomeUnknown } from './shared-log.js'

type Content = AsyncIterable<readonly Entry[]>

/** The requests of a leader to the consensus engine. Each resolves after the response. Safe requests are retried. */
interface LeaderCalls {
  /**
   * Appends an entry. Resolves to false if another node is the leader. Rejects with `LogRefused` if the log accepts no
   * entries now. In both cases, nothing was appended. After any other error, the outcome is unknown.
   */
  append(index: number, entry: Buffer): Promise<boolean>
  /** Replaces all data of the cluster. Resolves to undefined if another node is the leader. */
  replace(content: Content): Promise<LogPosition | undefined>
  /** Renews the lease. Resolves to false if the lease has expired. */
  renew(): Promise<boolean>
  /** Revokes the lease. */
  release(): Promise<void>
}

interface LeasedLeadershipOptions {
  readonly clock: Clock
  readonly leaseMs: number
  /** The monotonic time, in milliseconds, before this node requested the lease. */
  readonly sentMs: number
  readonly term: number
  readonly end: LogPosition
  readonly calls: LeaderCalls
}

/**
 * A leadership that is bound to a lease. The lease is renewed three times per lease time. The leadership ends in these
 * cases:
 * - The lease has expired by the clock of this node or in the consensus engine.
 * - Another node is the leader.
 * - The outcome of an append is unknown.
 * - This node resigns.
 *
 * If the lease has expired by the clock of this node, the leadership is not held, but it ends only after a further
 * third of the lease time. A late renewal resumes it until then: see `OwnLease`.
 */
export class LeasedLeadership implements Leadership {
  readonly term: number
  readonly lost: Promise<string>
  readonly #options: LeasedLeadershipOptions
  readonly #lease: OwnLease
  readonly #renewal: Timer
  readonly #resumptions = new Listeners()
  readonly onResumed = this.#resumptions.add
  #lose: (reason: string) => void = () => undefined
  /** Callbacks of pending requests, called if the leadership is lost. `Promise.race` with `lost` would leak memory. */
  readonly #waiting = new Set<(reason: string) => void>()
  #isResigning = false
  #isFinished = false
  /** The last queued append. Appends are sent one at a time, to keep their order. */
  #appends: Promise<unknown> = Promise.resolve()
  #end: LogPosition
  /** The last `LogRefused` error. Appends that were queued after the refused entry fail with the same error. */
  #refusal: LogRefused | undefined

  constructor(options: LeasedLeadershipOptions) {
    const { clock, leaseMs, sentMs, term, end } = options
    this.#options = options
    this.term = term
    this.#end = end
    this.lost = new Promise((resolve) => {
      this.#lose = resolve
    })
    this.#lease = new OwnLease(clock, leaseMs, sentMs, () => this.finish('its lease could not be renewed in time'))
    this.#renewal = clock.setRepeating(leaseMs / 3, () => void this.#renew())
  }

  get end(): LogPosition {
    return this.#end
  }

  get isHeld(): boolean {
    return !this.#isResigning && this.#lease.isHeld
  }

  get isOver(): boolean {
    return this.#isResigning || this.#isFinished
  }

  append(index: number, entry: Buffer): Promise<void> {
    if (this.isOver) return Promise.reject(new LeadershipLost())
    return this.#inOrder(() => this.#append(index, entry))
  }

  replace(content: Content): Promise<LogPosition> {
    if (this.isOver) return Promise.reject(new LeadershipLost())
    return this.#inOrder(() => this.#replace(content))
  }

  async resign(): Promise<void> {
    this.#isResigning = true
    await this.#appends
    // If no member responds, the lease expires by itself.
    await Promise.race([this.#options.calls.release().catch(() => undefined), this.lost])
    this.finish('it was resigned')
  }

  /** Ends the leadership on this node. The consensus engine notices when the lease expires. */
  finish(reason: string): void {
    this.#isFinished = true
    this.#renewal.cancel()
    this.#lease.end()
    this.#lose(reason)
    for (const wait of this.#waiting) wait(reason)
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#appends.then(work)
    this.#appends = done.catch(() => undefined)
    return done
  }

  async #append(index: number, entry: Buffer): Promise<void> {
    if (this.#isFinished) throw new LeadershipLost()
    if (index !== this.#end.index + 1) throw this.#refusal ?? new Error(`entry ${index} is not the next one`)
    const position = positionOf({ index, bytes: entry })
    const isAppended = await this.#outcome(this.#options.calls.append(index, entry))
    if (!isAppended) throw this.#overtaken()
    this.#end = position
  }

  async #replace(content: Content): Promise<LogPosition> {
    if (this.#isFinished) throw new LeadershipLost()
    const position = await this.#outcome(this.#options.calls.replace(content))
    if (!position) throw this.#overtaken()
    this.#end = position
    return position
  }

  /** Resolves to the response of a request. Rejects if the log refuses the entry, or the leadership is lost first. */
  async #outcome<T>(asked: Promise<T>): Promise<T> {
    const answer = await this.#untilLost(asked.catch(refusalOf))
    if (answer instanceof LogRefused) this.#refusal = answer
    if (answer instanceof OutcomeUnknown) this.finish('the outcome of an append is unknown')
    if (answer instanceof LogRefused || answer instanceof OutcomeUnknown) throw answer
    return answer
  }

  #untilLost<T>(asked: Promise<T>): Promise<T | OutcomeUnknown> {
    return new Promise((resolve) => {
      const lose = (reason: string) => resolve(new OutcomeUnknown(reason))
      this.#waiting.add(lose)
      void asked.then((answer) => {
        this.#waiting.delete(lose)
        resolve(answer)
      })
    })
  }

  #overtaken(): LeadershipLost {
    this.finish('another node is the leader')
    return new LeadershipLost()
  }

  /** Sends a renewal even if earlier renewals are pending, because a slow response extends the lease too. */
  async #renew(): Promise<void> {
    const sentMs = this.#options.clock.monotonic()
    try {
      if (!(await this.#options.calls.renew())) this.finish('its lease has expired')
      else if (this.#lease.renew(sentMs)) this.#resumptions.emit()
    } catch {
      // The next renewal retries. Without a successful renewal, the lease ends by the clock of this node.
    }
  }
}

const refusalOf = (error: unknown): LogRefused | OutcomeUnknown =>
  error instanceof LogRefused ? error : new OutcomeUnknown(error)
