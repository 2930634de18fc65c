import type { Clock } from '../base/clock.js'
import type { IncomingRequest } from '../logical/incoming.js'

export interface InFlight {
  readonly startTimeMs: number
  readonly remoteAddress: string
  readonly path: string
  readonly method: string
}

/** The requests that are being served, by id. */
export class InFlightRequests {
  readonly #clock: Clock
  readonly #requests = new Map<string, { request: IncomingRequest; startTimeMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns the function that ends it. */
  begin(request: IncomingRequest): () => void {
    this.#requests.set(request.id, { request, startTimeMs: this.#clock.now() })
    return () => void this.#requests.delete(request.id)
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
