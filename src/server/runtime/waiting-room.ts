import type { Clock } from '../../base/clock.js'
import { LIMITS } from '../../base/limits.js'
import { LogicalError } from '../../logical/errors.js'
import type { IncomingRequest } from '../../logical/incoming.js'

interface WaitingRoomOptions {
  readonly clock: Clock
  /** How long a request waits in all, wherever it does; 0 = not at all. */
  readonly waitMs: number
}

type Waiting = Pick<IncomingRequest, 'bodyBytes' | 'onGone' | 'waitEndMs'>

/** As a request tells that its client has gone away. */
export const goneOf =
  (gone: AbortSignal): NonNullable<IncomingRequest['onGone']> =>
  (listener) => {
    gone.addEventListener('abort', listener, { once: true })
    return () => gone.removeEventListener('abort', listener)
  }

/**
 * Requests that wait for a change of the cluster to be over, instead of being refused. They are as they came: whoever lets
 * them in judges them by what holds then. Bounded in number and in bytes; whose client leaves is dropped.
 */
export class WaitingRoom {
  readonly #options: WaitingRoomOptions
  readonly #waiting = new Set<() => void>()
  #bytes = 0

  constructor(options: WaitingRoomOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#waiting.size
  }

  /**
   * Resolves as soon as the request need not wait any more, when it has waited long enough here and in other rooms together,
   * when it has waited `ms` here, or when there is no room.
   */
  async pass(request: Waiting, mustWait: () => boolean, ms = Number.POSITIVE_INFINITY): Promise<void> {
    if (!mustWait()) return
    const { clock } = this.#options
    const endMs = clock.monotonic() + Math.min(ms, this.leftMs(request))
    while (mustWait()) {
      const leftMs = endMs - clock.monotonic()
      if (leftMs <= 0 || !this.#hasRoom(request)) return
      await this.#wait(request, leftMs)
    }
  }

  /** Milliseconds that the request may go on waiting; its time begins with the first question. */
  leftMs(request: Waiting): number {
    const nowMs = this.#options.clock.monotonic()
    request.waitEndMs ??= nowMs + this.#options.waitMs
    return Math.max(0, request.waitEndMs - nowMs)
  }

  /** To be called when something has changed: every request that waits looks again. */
  wake(): void {
    for (const check of [...this.#waiting]) check()
  }

  #hasRoom({ bodyBytes = 0 }: Waiting): boolean {
    return this.#waiting.size < LIMITS.waitingRequestsMax && this.#bytes + bodyBytes <= LIMITS.waitingBytesMax
  }

  async #wait({ bodyBytes = 0, onGone }: Waiting, leftMs: number): Promise<void> {
    let leave: () => void = () => undefined
    try {
      await new Promise<void>((resolve, reject) => {
        const timer = this.#options.clock.setTimer(leftMs, resolve)
        const off = onGone?.(() => reject(new LogicalError('unavailable', 'the client went away')))
        this.#waiting.add(resolve)
        this.#bytes += bodyBytes
        leave = () => {
          timer.cancel()
          off?.()
          this.#waiting.delete(resolve)
          this.#bytes -= bodyBytes
        }
      })
    } finally {
      leave()
    }
  }
}
