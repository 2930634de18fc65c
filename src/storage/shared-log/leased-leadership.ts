import type { Clock, Timer } from '../../base/clock.js'
import type { Entry } from '../engine/engine.js'
import { OwnLease } from './own-lease.js'
import { positionOf } from './raw-batch.js'
import { LeadershipLost, type Leadership, type LogPosition, LogRefused, OutcomeUnknown } from './shared-log.js'

type Content = AsyncIterable<readonly Entry[]>

/** A leader's requests to the consensus engine. Each request waits for its response. It is retried if this is safe. */
interface LeaderCalls {
  /**
   * Resolves to false if this node is not the leader: nothing was appended. Rejects with `LogRefused` if the log accepts
   * no entries: nothing was appended. After any other error, the outcome is unknown.
   */
  append(index: number, entry: Buffer): Promise<boolean>
  /** Resolves to undefined if this node is not the leader. */
  replace(content: Content): Promise<LogPosition | undefined>
  /** Resolves to false if the lease has expired. A response that arrives after the lease time is ignored. */
  renew(): Promise<boolean>
  /** Revokes the lease. */
  release(): Promise<void>
}

interface LeasedLeadershipOptions {
  readonly clock: Clock
  readonly leaseMs: number
  /** The monotonic time before the lease was requested. */
  readonly sentMs: number
  readonly term: number
  readonly end: LogPosition
  readonly calls: LeaderCalls
}

/**
 * A leadership that is bound to a lease. The lease is renewed after each third of its time. The leadership ends
 * permanently in these cases. A late response does not restore it.
 * - The lease has expired according to this node's clock or to the engine.
 * - Another node is the leader.
 * - The outcome of an append is unknown.
 */
export class LeasedLeadership implements Leadership {
  readonly term: number
  readonly lost: Promise<string>
  readonly #options: LeasedLeadershipOptions
  readonly #lease: OwnLease
  readonly #renewal: Timer
  #lose: (reason: string) => void = () => undefined
  /** Pending waits. A set is used because racing with a long-lived promise leaks one reaction per race. */
  readonly #waiting = new Set<(reason: string) => void>()
  #isResigning = false
  /** Appends are sent one at a time, which fixes their order. */
  #appends: Promise<unknown> = Promise.resolve()
  #end: LogPosition
  /** The last refusal of the log. Pending appends after the refused entry fail with the same error. */
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

  append(index: number, entry: Buffer): Promise<void> {
    if (!this.isHeld) return Promise.reject(new LeadershipLost())
    return this.#inOrder(() => this.#append(index, entry))
  }

  replace(content: Content): Promise<LogPosition> {
    if (!this.isHeld) return Promise.reject(new LeadershipLost())
    return this.#inOrder(() => this.#replace(content))
  }

  async resign(): Promise<void> {
    this.#isResigning = true
    await this.#appends
    // If no member answers, the lease expires by itself.
    await Promise.race([this.#options.calls.release().catch(() => undefined), this.lost])
    this.finish('it was resigned')
  }

  /** Ends the leadership locally. The engine notices when the lease expires. */
  finish(reason: string): void {
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
    if (!this.#lease.isHeld) throw new LeadershipLost()
    if (index !== this.#end.index + 1) throw this.#refusal ?? new Error(`entry ${index} is not the next one`)
    const position = positionOf({ index, bytes: entry })
    const isThere = await this.#outcome(this.#options.calls.append(index, entry))
    if (!isThere) throw this.#overtaken()
    this.#end = position
  }

  async #replace(content: Content): Promise<LogPosition> {
    if (!this.#lease.isHeld) throw new LeadershipLost()
    const position = await this.#outcome(this.#options.calls.replace(content))
    if (!position) throw this.#overtaken()
    this.#end = position
    return position
  }

  /** Resolves to the response if it arrives before the leadership is lost. Otherwise rejects with the reason. */
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

  /**
   * Renews the lease after each third of its time, even if earlier renewals are pending: a slow response still renews
   * the lease.
   */
  async #renew(): Promise<void> {
    const sentMs = this.#options.clock.monotonic()
    try {
      if (await this.#options.calls.renew()) this.#lease.renew(sentMs)
      else this.finish('its lease has expired')
    } catch {
      // The next renewal retries, until the lease has expired by this node's own clock.
    }
  }
}

const refusalOf = (error: unknown): LogRefused | OutcomeUnknown =>
  error instanceof LogRefused ? error : new OutcomeUnknown(error)
