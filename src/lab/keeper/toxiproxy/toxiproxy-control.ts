import type { Proxies } from './proxies.js'
import { serveToxiproxy, type ToxiproxyServer } from './toxiproxy-server.js'

/** Toxiproxy's control, which listens where and when somebody wants it to. */
export class ToxiproxyControl {
  readonly #proxies: Proxies
  #server: ToxiproxyServer | undefined

  constructor(proxies: Proxies) {
    this.#proxies = proxies
  }

  /** Null: it does not listen. */
  get port(): number | null {
    return this.#server?.port ?? null
  }

  /** Null ends it. Rejects with a conflict, with everything as before, when the port is taken. */
  async listenOn(port: number | null): Promise<void> {
    if (port !== null && port === this.port) return
    const next = port === null ? undefined : await serveToxiproxy(this.#proxies, port)
    await this.#server?.close()
    this.#server = next
  }
}
