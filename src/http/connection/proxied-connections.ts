import { isIPv4, isIPv6, type Server, type Socket } from 'node:net'
import { canonicalAddress, type Cidr, contains } from '../../base/cidr.js'
import type { Log } from '../../base/log.js'
import { peerAddress } from './client-address.js'

/** The senders whose PROXY protocol headers a listener trusts. */
export interface ProxyProtocolSettings {
  /** The trusted senders. Undefined means all senders. */
  readonly authorizedAddrs: readonly Cidr[] | undefined
  /** True if connections from other senders are closed. If false, the headers of other senders are read and ignored. */
  readonly refusesOthers: boolean
}

/** Calls `admit` for every new connection of a server. The server receives the connection when `admit` calls `pass`. */
export const interceptConnections = (server: Server, admit: (raw: Socket, pass: () => void) => void): void => {
  const listeners = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (raw) =>
    admit(raw, () => {
      for (const listener of listeners) Reflect.apply(listener, server, [raw])
    }),
  )
}

/** Reads and removes the PROXY protocol headers from the connections of one listener. */
export class ProxiedConnections {
  readonly #settings: ProxyProtocolSettings
  readonly #log: Log
  readonly #clients = new WeakMap<Socket, ProxyClient>()

  constructor(settings: ProxyProtocolSettings, log: Log) {
    this.#settings = settings
    this.#log = log
  }

  /** Closes a connection if its sender is not authorized. Returns true if the connection was closed. */
  refuse(raw: Socket): boolean {
    if (!this.#settings.refusesOthers || this.#isAuthorized(raw)) return false
    this.#close(raw, 'its source is not authorized for the PROXY protocol')
    return true
  }

  /**
   * Calls `pass` when the header has been removed, or if there is none. Closes a connection whose header is malformed
   * or truncated. The caller must close connections that send too slowly.
   */
  read(raw: Socket, pass: () => void): void {
    let received = NOTHING
    /** The number of header bytes that are not removed yet; undefined until the header is parsed. */
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

  /** Sets the client's address and port on `socket`, which is `raw` itself or the TLS socket over `raw`. */
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

/** The client address in a PROXY protocol header. */
interface ProxyClient {
  /** In canonical form. */
  readonly address: string
  readonly port: number
}

/** A parsed header. */
interface KnownHeader {
  /**
   * The size in bytes. In version 2, the size can exceed the number of received bytes, because bytes after the
   * addresses are not parsed.
   */
  readonly size: number
  /** Undefined if the header contains no client. The address of the connection applies then. */
  readonly client: ProxyClient | undefined
}

export type ProxyHeader = KnownHeader | 'incomplete' | 'absent' | 'malformed'

const V1 = Buffer.from('PROXY')
const V2 = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
/** The maximum size of a version 1 header, including its line end. */
const V1_BYTES_MAX = 107
/** The size of the fixed fields of version 2: signature, command, family and length. */
const V2_FIXED_BYTES = 16
const LOCAL = 0
const TRANSPORT_MAX = 2

/** The address families of version 2, by number: bytes per address and per port. */
const FAMILIES: readonly { readonly bytes: number; readonly portBytes: number }[] = [
  { bytes: 0, portBytes: 0 },
  { bytes: 4, portBytes: 2 },
  { bytes: 16, portBytes: 2 },
  { bytes: 108, portBytes: 0 },
]

/**
 * Parses a PROXY protocol header, version 1 (text) or 2 (binary), from the first bytes of a connection. Returns
 * `absent` if the connection does not begin with a header.
 */
export const parseProxyHeader = (bytes: Buffer): ProxyHeader => {
  if (begins(bytes, V1)) return bytes.length < V1.length ? 'incomplete' : parseText(bytes)
  if (begins(bytes, V2)) return bytes.length < V2_FIXED_BYTES ? 'incomplete' : parseBinary(bytes)
  return 'absent'
}

const begins = (bytes: Buffer, signature: Buffer): boolean => {
  const size = Math.min(bytes.length, signature.length)
  return bytes.subarray(0, size).equals(signature.subarray(0, size))
}

const parseText = (bytes: Buffer): ProxyHeader => {
  const end = bytes.subarray(0, V1_BYTES_MAX).indexOf('\r\n')
  if (end < 0) return bytes.length < V1_BYTES_MAX ? 'incomplete' : 'malformed'
  const size = end + 2
  const [word, family, ...rest] = bytes.toString('latin1', 0, end).split(' ')
  if (word !== 'PROXY') return 'malformed'
  if (family === 'UNKNOWN') return { size, client: undefined }
  const isAddress = family === 'TCP4' ? isIPv4 : family === 'TCP6' ? isPlainIPv6 : undefined
  const [source = '', destination = '', port = '', destinationPort = ''] = rest
  const isWhole = rest.length === 4 && isAddress?.(source) && isAddress(destination)
  if (!isWhole || !isPort(port) || !isPort(destinationPort)) return 'malformed'
  return { size, client: { address: canonicalAddress(source) ?? source, port: Number(port) } }
}

const isPlainIPv6 = (text: string): boolean => isIPv6(text) && !text.includes('%')

const isPort = (text: string): boolean => /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535

const parseBinary = (bytes: Buffer): ProxyHeader => {
  const [version, command] = nibbles(bytes, 12)
  const [number, transport] = nibbles(bytes, 13)
  const size = V2_FIXED_BYTES + bytes.readUInt16BE(14)
  if (version !== 2 || command > 1) return 'malformed'
  if (command === LOCAL) return { size, client: undefined }
  const family = FAMILIES[number]
  if (!family || transport > TRANSPORT_MAX) return 'malformed'
  const portAt = V2_FIXED_BYTES + 2 * family.bytes
  const end = portAt + 2 * family.portBytes
  if (size < end) return 'malformed'
  if (family.portBytes === 0 || transport === 0) return { size, client: undefined }
  if (bytes.length < end) return 'incomplete'
  const address = spell(bytes.subarray(V2_FIXED_BYTES, V2_FIXED_BYTES + family.bytes))
  return { size, client: { address, port: bytes.readUInt16BE(portAt) } }
}

const nibbles = (bytes: Buffer, at: number): [high: number, low: number] => {
  const byte = bytes.readUInt8(at)
  return [byte >> 4, byte & 15]
}

const spell = (address: Buffer): string => {
  if (address.length === 4) return address.join('.')
  const text = (address.toString('hex').match(/.{4}/g) ?? []).join(':')
  return canonicalAddress(text) ?? text
}
