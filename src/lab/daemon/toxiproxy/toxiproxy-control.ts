import type { Proxies } from './proxies.js'
import { serveToxiproxy, type ToxiproxyServer } from './toxiproxy-server.js'

/** The Toxiproxy API of a lab, which can be enabled and disabled. */
export class ToxiproxyControl {
  readonly #proxies: Proxies
  #server: ToxiproxyServer | undefined

  constructor(proxies: Proxies) {
    this.#proxies = proxies
  }

  /** Null if the API is disabled. */
  get port(): number | null {
    return this.#server?.port ?? null
  }

  /** Changes the port; null disables the API. If the port is taken, changes nothing and rejects with a conflict. */
  async listenOn(port: number | null): Promise<void> {
    if (port !== null && port === this.port) return
    const next = port === null ? undefined : await serveToxiproxy(this.#proxies, port)
    await this.#server?.close()
    this.#server = next
  }
}
