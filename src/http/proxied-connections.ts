import type { Server, Socket } from 'node:net'
import { type Cidr, contains } from '../base/cidr.js'
import type { Log } from '../base/log.js'
import { peerAddress } from './client-address.js'
import { parseProxyHeader, type ProxyClient } from './proxy-header.js'

/** The senders of connections that a listener with the PROXY protocol believes. */
export interface ProxyProtocolSettings {
  /** Undefined: every sender. */
  readonly authorizedAddrs: readonly Cidr[] | undefined
  /** Connections of other senders are closed; if false, their headers are read and ignored. */
  readonly refusesOthers: boolean
}

/** Lets `admit` decide whether and when the listeners of a server hear of a connection. */
export const interceptConnections = (server: Server, admit: (raw: Socket, pass: () => void) => void): void => {
  const listeners = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (raw) =>
    admit(raw, () => {
      for (const listener of listeners) Reflect.apply(listener, server, [raw])
    }),
  )
}

/** Reads the PROXY protocol headers of the connections of one listener, before anything else reads them. */
export class ProxiedConnections {
  readonly #settings: ProxyProtocolSettings
  readonly #log: Log
  readonly #clients = new WeakMap<Socket, ProxyClient>()

  constructor(settings: ProxyProtocolSettings, log: Log) {
    this.#settings = settings
    this.#log = log
  }

  /** Closes a connection that this listener takes from no such sender; true if it did. */
  refuse(raw: Socket): boolean {
    if (!this.#settings.refusesOthers || this.#isAuthorized(raw)) return false
    this.#close(raw, 'its source is not authorized for the PROXY protocol')
    return true
  }

  /**
   * Calls `pass` when the header has been taken off the connection, or the connection has none. Closes a connection whose
   * header is malformed or ends early. The caller closes a connection that sends too slowly.
   */
  read(raw: Socket, pass: () => void): void {
    let received = NOTHING
    /** Bytes of the header that are still to be taken off; undefined until the header is known. */
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

  /** From now on `socket`, which lies upon `raw` or is the same, has the address and the port of its client. */
  name(socket: Socket, raw: Socket): void {
    const client = this.#clients.get(raw)
    if (client)
      Object.defineProperties(socket, { remoteAddress: { value: client.address }, remotePort: { value: client.port } })
  }

  /** The size of the header of a connection; undefined if more bytes must come first, or none because it is closed. */
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
