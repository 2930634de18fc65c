import type { Clock } from '../../base/clock.js'
import { TransientMap } from '../../base/transient-map.js'
import type { IncomingRequest } from '../../logical/incoming.js'

export interface InFlight {
  readonly startTimeMs: number
  readonly remoteAddress: string
  readonly path: string
  readonly method: string
}

/** The requests in progress, by ID. */
export class InFlightRequests {
  readonly #clock: Clock
  readonly #waiting = new Set<() => void>()
  readonly #requests = new TransientMap<string, { request: IncomingRequest; startTimeMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns the function that ends the request. */
  begin(request: IncomingRequest): () => void {
    this.#requests.set(request.id, { request, startTimeMs: this.#clock.now() })
    return () => {
      this.#requests.delete(request.id)
      for (const check of this.#waiting) check()
    }
  }

  /** Resolves when the selected requests that are in flight now have been answered, or after `timeoutMs`. */
  settle(timeoutMs: number, isAwaited: (request: IncomingRequest) => boolean = () => true): Promise<void> {
    const awaited = new Set([...this.#requests].flatMap(([id, { request }]) => (isAwaited(request) ? [id] : [])))
    return new Promise((resolve) => {
      const finish = () => {
        timer.cancel()
        this.#waiting.delete(check)
        resolve()
      }
      const check = () => {
        for (const id of awaited) if (this.#requests.has(id)) return
        finish()
      }
      const timer = this.#clock.setTimer(timeoutMs, finish)
      this.#waiting.add(check)
      check()
    })
  }

  all(): ReadonlyMap<string, InFlight> {
    return new Map(
      [...this.#requests].map(([id, { request, startTimeMs }]) => [
        id,
        { startTimeMs, remoteAddress: request.remoteAddress, path: request.path, method: request.operation },
      ]),
    )
  }
}
