import type { Clock, Timer } from '../base/clock.js'
import { LIMITS } from '../base/limits.js'
import { nextTurn } from '../base/turn.js'
import { LogicalError } from '../logical/errors.js'

/** A body under way that no token speaks for. */
export interface OpenBody {
  grow(bytes: number): void
  end(): void
}

/** A place for a large body. */
export interface Place {
  receive(bytes: number): void
  /** All of the body has arrived. */
  complete(): void
  /** To be called when the request is answered. */
  leave(): void
}

/** Called when a body has to give way to others; it has ended then. */
type OnEvicted = (error: LogicalError) => void

interface Waiting {
  readonly bytes: number
  readonly onEvicted: OnEvicted
  readonly take: (place: Place) => void
}

/** A large body that is being read. */
interface Receiving {
  readonly sinceMs: number
  receivedBytes: number
  readonly evict: () => void
}

interface BodyRoomLimits {
  readonly openBytesMax: number
  readonly largeBytesMax: number
  readonly largeWaitingMax: number
  readonly largeGraceMs: number
  readonly largeBytesPerSecondMin: number
}

const DEFAULTS: BodyRoomLimits = {
  openBytesMax: LIMITS.openBodiesBytesMax,
  largeBytesMax: LIMITS.largeBodiesBytesMax,
  largeWaitingMax: LIMITS.largeBodiesWaitingMax,
  largeGraceMs: LIMITS.largeBodyGraceMs,
  largeBytesPerSecondMin: LIMITS.largeBodyBytesPerSecondMin,
}

/**
 * The memory for request bodies of one server, whatever listener they come through. Nobody waits for bodies of callers that
 * nobody knows: when those are too many, the one that began first ends, since an honest one is through in a moment. A
 * large body of a caller with a token waits, unread, until there is room for the whole of it. While any waits, those that
 * are read have to arrive at a minimum rate, after a grace period, or give way.
 */
export class BodyRoom {
  readonly #clock: Clock
  readonly #limits: BodyRoomLimits
  readonly #open = new Map<OpenBody, { bytes: number; readonly onEvicted: OnEvicted }>()
  readonly #waiting = new Set<Waiting>()
  readonly #receiving = new Set<Receiving>()
  #openBytes = 0
  #largeBytes = 0
  #slowest: Timer | undefined

  constructor(clock: Clock, limits: Partial<BodyRoomLimits> = {}) {
    this.#clock = clock
    this.#limits = { ...DEFAULTS, ...limits }
  }

  begin(onEvicted: OnEvicted): OpenBody {
    const body: OpenBody = {
      grow: (bytes) => this.#grow(body, bytes),
      end: () => this.#end(body),
    }
    this.#open.set(body, { bytes: 0, onEvicted })
    return body
  }

  /** Resolves when there is room for so many bytes, or for this body alone. Rejects with 503 when too many wait. */
  enter(bytes: number, signal: AbortSignal, onEvicted: OnEvicted): Promise<Place> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size >= this.#limits.largeWaitingMax) {
        reject(new LogicalError('unavailable', 'too many large request bodies are waiting'))
        return
      }
      const waiting: Waiting = { bytes, onEvicted, take: resolve }
      this.#waiting.add(waiting)
      signal.addEventListener('abort', () => {
        if (!this.#waiting.delete(waiting)) return
        reject(signal.reason)
        this.#admit()
      })
      this.#admit()
    })
  }

  #grow(body: OpenBody, bytes: number): void {
    const entry = this.#open.get(body)
    if (!entry) return
    entry.bytes += bytes
    this.#openBytes += bytes
    for (const [oldest, { onEvicted }] of this.#open) {
      if (this.#openBytes <= this.#limits.openBytesMax) return
      this.#end(oldest)
      onEvicted(new LogicalError('unavailable', 'too many unfinished request bodies'))
    }
  }

  #end(body: OpenBody): void {
    this.#openBytes -= this.#open.get(body)?.bytes ?? 0
    this.#open.delete(body)
  }

  /** In the order of their coming, so that small ones do not keep a larger one out for ever. */
  #admit(): void {
    for (const waiting of this.#waiting) {
      const isRoom = this.#largeBytes === 0 || this.#largeBytes + waiting.bytes <= this.#limits.largeBytesMax
      if (!isRoom) break
      this.#waiting.delete(waiting)
      this.#largeBytes += waiting.bytes
      waiting.take(this.#placeOf(waiting))
    }
    this.#watchSlowest()
  }

  #placeOf({ bytes, onEvicted }: Waiting): Place {
    let isTaken = true
    const leave = () => {
      if (!isTaken) return
      isTaken = false
      this.#receiving.delete(receiving)
      this.#largeBytes -= bytes
      this.#admit()
    }
    const evict = () => {
      leave()
      onEvicted(new LogicalError('request-timeout', 'the request body came too slowly while others waited'))
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

  /** Bytes that have arrived by now are read first: it may be the server that was slow. */
  async #evictSlowest(): Promise<void> {
    await nextTurn()
    const due = this.#findDue()
    if (due && due.atMs <= this.#clock.monotonic()) due.body.evict()
    else this.#watchSlowest()
  }

  /** The body whose time is over first, unless more of it arrives; undefined when nobody waits. */
  #findDue(): { readonly body: Receiving; readonly atMs: number } | undefined {
    if (this.#waiting.size === 0) return undefined
    const { largeGraceMs, largeBytesPerSecondMin } = this.#limits
    let first: { readonly body: Receiving; readonly atMs: number } | undefined
    for (const body of this.#receiving) {
      const atMs = body.sinceMs + largeGraceMs + (1000 * body.receivedBytes) / largeBytesPerSecondMin
      if (!first || atMs < first.atMs) first = { body, atMs }
    }
    return first
  }
}
