import type { Clock, Timer } from '../../base/clock.js'
import type { Entry } from '../engine/engine.js'
import { OwnLease } from './own-lease.js'
import { positionOf } from './raw-batch.js'
import { LeadershipLost, type Leadership, type LogPosition, LogRefused, OutcomeUnknown } from './shared-log.js'

type Content = AsyncIterable<readonly Entry[]>

/** What a leader asks of the engine. Each waits for its answer, and is asked again where that does no harm. */
interface LeaderCalls {
  /** False when somebody else leads, or nobody: nothing was appended. Rejects with `LogRefused` when that is for another reason. */
  append(index: number, entry: Buffer): Promise<boolean>
  /** Undefined where `append` says false. */
  replace(content: Content): Promise<LogPosition | undefined>
  /** False when the lease has ended. No answer after the time of a lease is of use. */
  renew(): Promise<boolean>
  /** Ends the lease. */
  release(): Promise<void>
}

interface LeasedLeadershipOptions {
  readonly clock: Clock
  readonly leaseMs: number
  /** The monotonic time before the lease was asked for. */
  readonly sentMs: number
  readonly term: number
  readonly end: LogPosition
  readonly calls: LeaderCalls
}

/**
 * A leadership that lasts as long as its lease, which is renewed at each third of it. It ends for good, whatever comes of
 * answers that are late: by the own clock, when the engine says that it has ended, and with the first append that fails.
 */
export class LeasedLeadership implements Leadership {
  readonly term: number
  readonly lost: Promise<string>
  readonly #options: LeasedLeadershipOptions
  readonly #lease: OwnLease
  readonly #renewal: Timer
  #lose: (reason: string) => void = () => undefined
  /** Whoever waits for an answer: a promise that lasts keeps a trace of each who has ever raced with it. */
  readonly #waiting = new Set<(reason: string) => void>()
  #isResigning = false
  /** One append at a time is on its way, so that no order but theirs is possible. */
  #appends: Promise<unknown> = Promise.resolve()
  #end: LogPosition
  /** What the log has answered to an entry: those behind it cannot be appended either. */
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
    // Where nobody answers, it ends by itself.
    await Promise.race([this.#options.calls.release().catch(() => undefined), this.lost])
    this.finish('it was given up')
  }

  /** Ends it here; the engine finds out by itself. */
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

  /** What was answered before the leadership was lost. Rejects with what is known otherwise. */
  async #outcome<T>(asked: Promise<T>): Promise<T> {
    const answer = await this.#untilLost(asked.catch(refusalOf))
    if (answer instanceof LogRefused) this.#refusal = answer
    if (answer instanceof OutcomeUnknown) this.finish('what became of an entry is not known')
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
    this.finish('another node leads')
    return new LeadershipLost()
  }

  /** Asked at each third, whatever has become of those before: an answer that takes longer renews the lease all the same. */
  async #renew(): Promise<void> {
    const sentMs = this.#options.clock.monotonic()
    try {
      if (await this.#options.calls.renew()) this.#lease.renew(sentMs)
      else this.finish('its lease has ended')
    } catch {
      // The next third asks again, until the lease has ended by the own clock.
    }
  }
}

const refusalOf = (error: unknown): LogRefused | OutcomeUnknown =>
  error instanceof LogRefused ? error : new OutcomeUnknown(error)
