import type { Clock, Timer } from '../../base/clock.js'
import { LIMITS } from '../../base/limits.js'
import { nextTurn } from '../../base/turn.js'
import { LogicalError } from '../../logical/errors.js'
import { ByteBudget } from './byte-budget.js'

/** A request body that is being received from a client without a valid token. */
export interface OpenBody {
  grow(bytes: number): void
  end(): void
}

/** A reservation for a large body. */
export interface Reservation {
  receive(bytes: number): void
  /** Reports that the whole body has arrived. */
  complete(): void
  /** Releases the reservation. Called when the response has been created. */
  leave(): void
}

/** Called when a body is evicted, which releases its budget for other bodies. The body can then no longer be read. */
type OnEvicted = (error: LogicalError) => void

/** A large body that is being read. */
interface Receiving {
  readonly sinceMs: number
  receivedBytes: number
  readonly evict: () => void
}

const DEFAULTS = {
  openBytesMax: LIMITS.openBodiesBytesMax,
  largeBytesMax: LIMITS.largeBodiesBytesMax,
  largeWaitingMax: LIMITS.largeBodiesWaitingMax,
  largeGraceMs: LIMITS.largeBodyGraceMs,
  largeBytesPerSecondMin: LIMITS.largeBodyBytesPerSecondMin,
}

type RequestBodyLimits = Readonly<Record<keyof typeof DEFAULTS, number>>

/**
 * The memory budget for request bodies of one server, shared by all its listeners.
 *
 * - Bodies of unauthenticated callers never wait. If there are too many, the oldest body is evicted, since normal
 *   clients complete a body quickly.
 * - A large body of an authenticated caller is not read until all of it fits into the budget. While any body waits, the
 *   bodies being read must arrive at a minimum rate after a grace period. A slower body is evicted.
 */
export class RequestBodyBudget {
  readonly #clock: Clock
  readonly #limits: RequestBodyLimits
  readonly #open = new Map<OpenBody, { bytes: number; readonly onEvicted: OnEvicted }>()
  readonly #receiving = new Set<Receiving>()
  #openBytes = 0
  readonly #large: ByteBudget
  #slowest: Timer | undefined

  constructor(clock: Clock, limits: Partial<RequestBodyLimits> = {}) {
    this.#clock = clock
    this.#limits = { ...DEFAULTS, ...limits }
    this.#large = new ByteBudget({
      bytesMax: this.#limits.largeBytesMax,
      waitingMax: this.#limits.largeWaitingMax,
      refusal: 'too many large request bodies are waiting: try again later',
      onChange: () => this.#watchSlowest(),
    })
  }

  begin(onEvicted: OnEvicted): OpenBody {
    const body: OpenBody = {
      grow: (bytes) => this.#grow(body, bytes),
      end: () => this.#end(body),
    }
    this.#open.set(body, { bytes: 0, onEvicted })
    return body
  }

  /**
   * Reserves budget for a large body. Waits until `bytes` fit into the budget, or the body is the only one. Rejects
   * with LogicalError 503 if too many bodies wait.
   */
  enter(bytes: number, signal: AbortSignal, onEvicted: OnEvicted): Promise<Reservation> {
    const reserve = () => this.#reserve(bytes, onEvicted)
    return this.#large.take(bytes, reserve, (leave) => signal.addEventListener('abort', () => leave(signal.reason)))
  }

  #grow(body: OpenBody, bytes: number): void {
    const entry = this.#open.get(body)
    if (!entry) return
    entry.bytes += bytes
    this.#openBytes += bytes
    for (const [oldest, { onEvicted }] of this.#open) {
      if (this.#openBytes <= this.#limits.openBytesMax) return
      this.#end(oldest)
      onEvicted(new LogicalError('unavailable', 'too many unfinished request bodies: try again later'))
    }
  }

  #end(body: OpenBody): void {
    this.#openBytes -= this.#open.get(body)?.bytes ?? 0
    this.#open.delete(body)
  }

  #reserve(bytes: number, onEvicted: OnEvicted): Reservation {
    let isTaken = true
    const leave = () => {
      if (!isTaken) return
      isTaken = false
      this.#receiving.delete(receiving)
      this.#large.release(bytes)
    }
    const evict = () => {
      leave()
      onEvicted(new LogicalError('request-timeout', 'the request body arrived too slowly while other bodies waited'))
    }
    const receiving: Receiving = { sinceMs: this.#clock.monotonic(), receivedBytes: 0, evict }
    this.#receiving.add(receiving)
    const receive = (received: number) => {
      receiving.receivedBytes += received
    }
    return { receive, complete: () => this.#receiving.delete(receiving), leave }
  }

  #watchSlowest(): void {
    this.#slowest?.cancel()
    this.#slowest = undefined
    const due = this.#findDue()
    if (!due) return
    const inMs = Math.max(0, due.atMs - this.#clock.monotonic())
    this.#slowest = this.#clock.setTimer(inMs, () => void this.#evictSlowest())
  }

  /**
   * Evicts the slowest body if it is overdue. First reads the bytes that have already arrived, because the server
   * itself may have been slow.
   */
  async #evictSlowest(): Promise<void> {
    await nextTurn()
    const due = this.#findDue()
    if (due && due.atMs <= this.#clock.monotonic()) due.body.evict()
    else this.#watchSlowest()
  }

  /**
   * Returns the body with the earliest deadline; undefined if no other body waits. Each received byte extends the
   * deadline of its body.
   */
  #findDue(): { readonly body: Receiving; readonly atMs: number } | undefined {
    if (!this.#large.isAwaited) return undefined
    const { largeGraceMs, largeBytesPerSecondMin } = this.#limits
    let first: { readonly body: Receiving; readonly atMs: number } | undefined
    for (const body of this.#receiving) {
      const atMs = body.sinceMs + largeGraceMs + (1000 * body.receivedBytes) / largeBytesPerSecondMin
      if (!first || atMs < first.atMs) first = { body, atMs }
    }
    return first
  }
}
