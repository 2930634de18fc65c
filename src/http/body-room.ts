import { LIMITS } from '../base/limits.js'
import { LogicalError } from '../logical/errors.js'

/** A body under way that no token speaks for. */
export interface OpenBody {
  grow(bytes: number): void
  end(): void
}

/** A place for a large body; to be given back when its request is answered. */
export type Place = () => void

interface Waiting {
  readonly bytes: number
  readonly take: (place: Place) => void
}

interface BodyRoomLimits {
  readonly openBytesMax: number
  readonly largeBytesMax: number
  readonly largeWaitingMax: number
}

const DEFAULTS: BodyRoomLimits = {
  openBytesMax: LIMITS.openBodiesBytesMax,
  largeBytesMax: LIMITS.largeBodiesBytesMax,
  largeWaitingMax: LIMITS.largeBodiesWaitingMax,
}

/**
 * The memory for request bodies of one server, whatever listener they come through. Nobody waits for bodies of callers that
 * nobody knows: when those are too many, the one that began first ends, since an honest one is through in a moment. A
 * large body of a caller with a token waits, unread, until there is room for the whole of it.
 */
export class BodyRoom {
  readonly #limits: BodyRoomLimits
  readonly #open = new Map<OpenBody, { bytes: number; readonly onEvicted: (error: LogicalError) => void }>()
  readonly #waiting = new Set<Waiting>()
  #openBytes = 0
  #largeBytes = 0

  constructor(limits: Partial<BodyRoomLimits> = {}) {
    this.#limits = { ...DEFAULTS, ...limits }
  }

  /** `onEvicted` is called when the body has to give way to others; it has ended then. */
  begin(onEvicted: (error: LogicalError) => void): OpenBody {
    const body: OpenBody = {
      grow: (bytes) => this.#grow(body, bytes),
      end: () => this.#end(body),
    }
    this.#open.set(body, { bytes: 0, onEvicted })
    return body
  }

  /** Resolves when there is room for so many bytes, or for this body alone. Rejects with 503 when too many wait. */
  enter(bytes: number, signal: AbortSignal): Promise<Place> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size >= this.#limits.largeWaitingMax) {
        reject(new LogicalError('unavailable', 'too many large request bodies are waiting'))
        return
      }
      const waiting: Waiting = { bytes, take: resolve }
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
      if (!isRoom) return
      this.#waiting.delete(waiting)
      this.#largeBytes += waiting.bytes
      waiting.take(this.#placeOf(waiting.bytes))
    }
  }

  #placeOf(bytes: number): Place {
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#largeBytes -= bytes
      this.#admit()
    }
  }
}
