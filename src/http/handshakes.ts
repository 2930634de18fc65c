import type { Socket } from 'node:net'
import type { Clock, Timer } from '../base/clock.js'

/**
 * Cuts connections whose TLS handshake has not ended in time. The library's own limit begins anew with every byte, and
 * leaves the connection below it open.
 */
export class Handshakes {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #timers = new Map<string, Timer>()

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  begin(raw: Socket): void {
    const peer = peerOf(raw)
    const timer = this.#clock.setTimer(this.#timeoutMs, () => raw.destroy())
    this.#timers.set(peer, timer)
    raw.once('close', () => {
      timer.cancel()
      if (this.#timers.get(peer) === timer) this.#timers.delete(peer)
    })
  }

  /** `secure` is the connection that has come of it; the library does not tell which one it lies upon. */
  end(secure: Socket): void {
    const peer = peerOf(secure)
    this.#timers.get(peer)?.cancel()
    this.#timers.delete(peer)
  }
}

/** Identifies a connection: no two open connections of a listener have the same four. */
const peerOf = ({ localAddress, localPort, remoteAddress, remotePort }: Socket): string =>
  [localAddress, localPort, remoteAddress, remotePort].join(' ')
