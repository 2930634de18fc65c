import type { Clock } from '../../base/clock.js'
import { LIMITS } from '../../base/limits.js'
import { LogicalError } from '../../logical/errors.js'
import type { IncomingRequest } from '../../logical/incoming.js'

interface WaitingRoomOptions {
  readonly clock: Clock
  /** Maximum total time in ms that a request waits, in all queues together; 0 = it does not wait. */
  readonly waitMs: number
}

type Waiting = Pick<IncomingRequest, 'bodyBytes' | 'onGone' | 'waitEndMs'>

/** Adapts a request's notification that its client has disconnected. */
export const goneOf =
  (gone: AbortSignal): NonNullable<IncomingRequest['onGone']> =>
  (listener) => {
    gone.addEventListener('abort', listener, { once: true })
    return () => gone.removeEventListener('abort', listener)
  }

/**
 * Queue of requests that wait for a change of the cluster instead of being rejected. They stay unmodified, and the caller
 * checks them against the state after the wait. Limited in number and bytes. A request is dropped if its client disconnects.
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
   * Resolves when the request need not wait any more, after its total time in all queues, after `ms` in this one, or if the
   * queue is full.
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

  /** Returns the milliseconds that the request may still wait. The time starts with the first call. */
  leftMs(request: Waiting): number {
    const nowMs = this.#options.clock.monotonic()
    request.waitEndMs ??= nowMs + this.#options.waitMs
    return Math.max(0, request.waitEndMs - nowMs)
  }

  /** Makes every waiting request check again. Call it after a change. */
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
