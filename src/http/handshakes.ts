import type { Socket } from 'node:net'
import type { Clock, Timer } from '../base/clock.js'

/**
 * Cuts connections whose PROXY protocol header and TLS handshake have not ended in time. The library's own limit begins anew
 * with every byte, and leaves the connection below it open.
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
   * Returns the connection that `secure` lies upon, which the library does not tell; undefined if the client has gone. Without
   * TLS the two are the same.
   */
  end(secure: Socket): Socket | undefined {
    const peer = peerOf(secure)
    const begun = this.#open.get(peer)
    begun?.timer.cancel()
    this.#open.delete(peer)
    return begun?.raw
  }

  /** Cuts every connection that is in its handshake. The library does not notice a client that leaves there. */
  close(): void {
    for (const { raw } of this.#open.values()) raw.destroy()
  }
}

/** Identifies a connection: no two open connections of a listener have the same four. */
const peerOf = ({ localAddress, localPort, remoteAddress, remotePort }: Socket): string =>
  [localAddress, localPort, remoteAddress, remotePort].join(' ')
