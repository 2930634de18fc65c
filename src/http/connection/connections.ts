import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../base/clock.js'
import type { MessageGate } from './message-gate.js'
import { TransientMap } from '../../base/transient-map.js'
import type { Answer, Message } from '../message/direct-answer.js'

interface Connection {
  readonly gate: MessageGate
  /** The number of messages that had begun at the last check, and the time since when this number is unchanged. */
  begun: number
  sinceMs: number
}

const SWEEP_MS = 1000

/**
 * The open connections of one listener. Closes idle connections, because Node does not know about messages in the fast
 * lane. Node's server itself closes connections on which a message arrives too slowly.
 */
export class Connections {
  readonly #clock: Clock
  readonly #open = new Map<Socket, Connection>()
  #sweep: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(socket: Socket, gate: MessageGate): void {
    this.#open.set(socket, { gate, begun: 0, sinceMs: 0 })
    socket.once('close', () => this.#open.delete(socket))
  }

  gateOf(socket: Socket): MessageGate | undefined {
    return this.#open.get(socket)?.gate
  }

  /** Closes connections that are idle for `idleMs`, at most two seconds late. If `idleMs` is 0, does nothing. */
  watch(idleMs: number): void {
    if (idleMs === 0) return
    this.#sweep = this.#clock.setRepeating(SWEEP_MS, () => this.#endOverdue(idleMs))
  }

  endIdle(): void {
    for (const [socket, { gate }] of this.#open) if (gate.isIdle) socket.destroy()
  }

  /** Closes every connection, immediately (`isAtOnce`) or after pending data has been sent. */
  close(isAtOnce: boolean): void {
    this.#sweep?.cancel()
    for (const socket of this.#open.keys()) {
      if (isAtOnce) socket.destroy()
      else socket.destroySoon()
    }
  }

  #endOverdue(idleMs: number): void {
    const nowMs = this.#clock.monotonic()
    for (const [socket, connection] of this.#open) {
      const { isIdle, begun } = connection.gate
      if (!isIdle || begun !== connection.begun) {
        connection.begun = isIdle ? begun : 0
        connection.sinceMs = nowMs
      } else if (nowMs - connection.sinceMs >= idleMs) socket.destroy()
    }
  }
}

/**
 * Closes connections whose PROXY protocol header and TLS handshake do not complete in time. Node's own timeout restarts
 * with every byte, and leaves the underlying connection open.
 */
export class Handshakes {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #open = new Map<string, { readonly raw: Socket; readonly timer: Timer }>()

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  begin(raw: Socket): void {
    const peer = peerOf(raw)
    const timer = this.#clock.setTimer(this.#timeoutMs, () => raw.destroy())
    this.#open.set(peer, { raw, timer })
    raw.once('close', () => {
      timer.cancel()
      if (this.#open.get(peer)?.raw === raw) this.#open.delete(peer)
    })
  }

  /**
   * Stops the timeout of a handshake. Returns the raw connection below `secure`, which Node does not expose; undefined
   * if the client has disconnected. Without TLS, `secure` is the raw connection itself.
   */
  end(secure: Socket): Socket | undefined {
    const peer = peerOf(secure)
    const begun = this.#open.get(peer)
    begun?.timer.cancel()
    this.#open.delete(peer)
    return begun?.raw
  }

  /**
   * Closes every connection whose handshake is in progress. Node does not detect that a client disconnects during the
   * handshake.
   */
  close(): void {
    for (const { raw } of this.#open.values()) raw.destroy()
  }
}

/** Returns a key that is unique among the open connections of a listener. */
const peerOf = ({ localAddress, localPort, remoteAddress, remotePort }: Socket): string =>
  [localAddress, localPort, remoteAddress, remotePort].join(' ')

interface Exchange {
  readonly number: number
  readonly request: Message
  readonly response: Answer
  readonly startedMs: number
}

/** The requests in flight on one listener. */
export class Exchanges {
  readonly #clock: Clock
  readonly #open = new TransientMap<number, Exchange>()
  #begun = 0
  #sweep: Timer | undefined
  #isClosing = false
  #onEmpty: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isClosing(): boolean {
    return this.#isClosing
  }

  begin(request: Message, response: Answer): Exchange {
    const exchange = { number: this.#begun++, request, response, startedMs: this.#clock.monotonic() }
    this.#open.set(exchange.number, exchange)
    return exchange
  }

  end(exchange: Exchange): void {
    this.#open.delete(exchange.number)
    if (this.#open.size === 0) this.#onEmpty?.()
  }

  /**
   * Calls `onOverdue` for each request without a response `requestMs` after its head was read, at most one second late.
   */
  watch(requestMs: number, onOverdue: (exchange: Exchange) => void): void {
    this.#sweep = this.#clock.setRepeating(SWEEP_MS, () => {
      const latestMs = this.#clock.monotonic() - requestMs
      for (const [, exchange] of this.#open) {
        if (exchange.startedMs <= latestMs) onOverdue(exchange)
      }
    })
  }

  /**
   * Marks the server as closing. Resolves when no request is in flight, or after `drainMs`. Returns undefined if no
   * wait is needed.
   */
  drain(drainMs: number): Promise<void> | undefined {
    this.#isClosing = true
    return this.#open.size > 0 && drainMs > 0 ? this.#drained(drainMs) : undefined
  }

  /** Stops the timeout sweep. Returns true if no request is in flight. */
  stop(): boolean {
    this.#sweep?.cancel()
    return this.#open.size === 0
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
