import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../base/clock.js'

/**
 * Closes connections whose PROXY protocol header and TLS handshake do not complete in time. Node's own timeout restarts with
 * every byte, and leaves the underlying connection open.
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
   * Ends the tracking of a handshake. Returns the raw connection below `secure`, which Node does not expose; undefined if
   * the client has disconnected. Without TLS the two are the same.
   */
  end(secure: Socket): Socket | undefined {
    const peer = peerOf(secure)
    const begun = this.#open.get(peer)
    begun?.timer.cancel()
    this.#open.delete(peer)
    return begun?.raw
  }

  /** Closes every connection in its handshake. Node does not notice a client that disconnects during the handshake. */
  close(): void {
    for (const { raw } of this.#open.values()) raw.destroy()
  }
}

/** Returns a key that is unique among the open connections of a listener. */
const peerOf = ({ localAddress, localPort, remoteAddress, remotePort }: Socket): string =>
  [localAddress, localPort, remoteAddress, remotePort].join(' ')
