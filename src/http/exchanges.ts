import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../base/clock.js'

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly startedMs: number
}

const SWEEP_MS = 1000

/** The work in flight on one listener: requests that are not answered yet, and open connections. */
export class Exchanges {
  readonly #clock: Clock
  readonly #open = new Set<Exchange>()
  readonly #sockets = new Set<Socket>()
  #sweep: Timer | undefined
  #isClosing = false
  #onEmpty: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isClosing(): boolean {
    return this.#isClosing
  }

  addSocket(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  begin(request: IncomingMessage, response: ServerResponse): Exchange {
    const exchange = { request, response, startedMs: this.#clock.monotonic() }
    this.#open.add(exchange)
    return exchange
  }

  end(exchange: Exchange): void {
    this.#open.delete(exchange)
    if (this.#open.size === 0) this.#onEmpty?.()
  }

  /** Calls `onOverdue` for what is not answered `requestMs` after its head was read, at most a second late. */
  watch(requestMs: number, onOverdue: (exchange: Exchange) => void): void {
    this.#sweep = this.#clock.setRepeating(SWEEP_MS, () => {
      const latestMs = this.#clock.monotonic() - requestMs
      for (const exchange of this.#open) {
        if (exchange.startedMs <= latestMs) onOverdue(exchange)
      }
    })
  }

  /** Waits for the answers that are due, `drainMs` at most, then ends every connection: with 0 before it returns. */
  async close(drainMs: number): Promise<void> {
    this.#isClosing = true
    if (this.#open.size > 0 && drainMs > 0) await this.#drained(drainMs)
    this.#sweep?.cancel()
    for (const socket of this.#sockets) {
      if (this.#open.size > 0) socket.destroy()
      else socket.destroySoon()
    }
  }

  #drained(drainMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(drainMs, resolve)
      this.#onEmpty = () => {
        timer.cancel()
        resolve()
      }
    })
  }
}
