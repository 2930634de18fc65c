import type { Server, Socket } from 'node:net'
import { type Cidr, contains } from '../../base/cidr.js'
import type { Log } from '../../base/log.js'
import { peerAddress } from './client-address.js'
import { parseProxyHeader, type ProxyClient } from './proxy-header.js'

/** The senders whose PROXY protocol headers a listener trusts. */
export interface ProxyProtocolSettings {
  /** Undefined: all senders. */
  readonly authorizedAddrs: readonly Cidr[] | undefined
  /** If true, connections from other senders are closed; if false, their headers are read and ignored. */
  readonly refusesOthers: boolean
}

/** Lets `admit` decide if and when the server's listeners receive a connection. */
export const interceptConnections = (server: Server, admit: (raw: Socket, pass: () => void) => void): void => {
  const listeners = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (raw) =>
    admit(raw, () => {
      for (const listener of listeners) Reflect.apply(listener, server, [raw])
    }),
  )
}

/** Reads the PROXY protocol headers of one listener's connections before any other reader. */
export class ProxiedConnections {
  readonly #settings: ProxyProtocolSettings
  readonly #log: Log
  readonly #clients = new WeakMap<Socket, ProxyClient>()

  constructor(settings: ProxyProtocolSettings, log: Log) {
    this.#settings = settings
    this.#log = log
  }

  /** Closes a connection whose sender is not authorized. Returns true if it did. */
  refuse(raw: Socket): boolean {
    if (!this.#settings.refusesOthers || this.#isAuthorized(raw)) return false
    this.#close(raw, 'its source is not authorized for the PROXY protocol')
    return true
  }

  /**
   * Calls `pass` when the header has been removed, or if there is none. Closes a connection whose header is malformed or
   * truncated. The caller closes connections that send too slowly.
   */
  read(raw: Socket, pass: () => void): void {
    let received = NOTHING
    /** Header bytes still to be removed; undefined until the header is parsed. */
    let left: number | undefined
    const stop = () => {
      raw.off('readable', take)
      raw.off('end', cut)
      raw.off('error', cut)
    }
    const cut = () => void raw.destroy()
    const take = () => {
      const chunk: Buffer | null = raw.read()
      if (!chunk) return
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      left ??= this.#sizeOf(raw, received)
      if (left === undefined) return
      if (received.length < left) {
        left -= received.length
        received = NOTHING
        return
      }
      stop()
      if (received.length > left) raw.unshift(received.subarray(left))
      pass()
    }
    raw.on('readable', take)
    raw.on('end', cut)
    raw.on('error', cut)
  }

  /** Gives `socket`, which is `raw` or wraps it, the address and port of its client. */
  name(socket: Socket, raw: Socket): void {
    const client = this.#clients.get(raw)
    if (client)
      Object.defineProperties(socket, { remoteAddress: { value: client.address }, remotePort: { value: client.port } })
  }

  /** Returns the size of a connection's header; undefined if more bytes are needed or the connection was closed. */
  #sizeOf(raw: Socket, received: Buffer): number | undefined {
    const header = parseProxyHeader(received)
    if (header === 'absent') return 0
    if (header === 'malformed') this.#close(raw, 'its PROXY protocol header is malformed')
    if (typeof header === 'string') return undefined
    if (header.client && this.#isAuthorized(raw)) this.#clients.set(raw, header.client)
    return header.size
  }

  #close(raw: Socket, reason: string): void {
    this.#log.debug('a connection was closed', { reason, source: raw.remoteAddress })
    raw.destroy()
  }

  #isAuthorized(raw: Socket): boolean {
    const { authorizedAddrs } = this.#settings
    const peer = peerAddress(raw.remoteAddress)
    return authorizedAddrs?.some((block) => contains(block, peer)) ?? true
  }
}

const NOTHING: Buffer = Buffer.alloc(0)
