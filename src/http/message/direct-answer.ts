import { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Socket } from 'node:net'

/** A message whose head and body arrived together, so that it requires no stream. */
export class WholeMessage {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly httpVersion = '1.1'
  readonly socket: Socket
  body: Buffer = NOTHING
  /** True when the parser has seen the end of the message. */
  complete = false

  constructor(method: string, url: string, headers: Readonly<Record<string, string>>, socket: Socket) {
    this.method = method
    this.url = url
    this.headers = headers
    this.socket = socket
  }
}

/** A message from Node's server or from the fast lane. */
export type Message = IncomingMessage | WholeMessage

const NOTHING = Buffer.alloc(0)

/**
 * Common header names in their usual spelling, with their lower-case form. A lookup is faster than a conversion to
 * lower case.
 */
const KNOWN_NAMES: ReadonlyMap<string, string> = new Map(
  [
    ...['Host', 'User-Agent', 'Accept', 'Accept-Encoding', 'Connection', 'Content-Length', 'Content-Type'],
    ...['X-Vault-Token', 'X-Vault-Namespace', 'X-Vault-Request', 'X-Vault-Index', 'X-Vault-Wrap-TTL', 'Authorization'],
  ].flatMap((name) => [
    [name, name.toLowerCase()],
    [name.toLowerCase(), name.toLowerCase()],
  ]),
)

/**
 * Headers of messages that Node's server must handle. They change how the message is read, require an interim response,
 * or have several values.
 */
const UNUSUAL: ReadonlySet<string> = new Set(['transfer-encoding', 'expect', 'upgrade', 'trailer', 'set-cookie'])

/**
 * Returns the headers by name, from alternating names and values. Returns undefined if Node's server must handle the
 * message, for example because a header is repeated.
 */
export const readPlainHeaders = (pairs: readonly string[]): Readonly<Record<string, string>> | undefined => {
  const headers: Record<string, string> = {}
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const sent = pairs[at] ?? ''
    const value = pairs[at + 1] ?? ''
    const name = KNOWN_NAMES.get(sent) ?? sent.toLowerCase()
    if (headers[name] !== undefined || UNUSUAL.has(name)) return undefined
    if (name === 'connection' && value.toLowerCase() !== 'keep-alive') return undefined
    headers[name] = value
  }
  return headers
}

/** A response of Node's server or of the fast lane. */
export type Answer = ServerResponse | DirectAnswer

/** The response to a `WholeMessage`. Implements only the members of Node's response that `src/http` uses. */
export class DirectAnswer {
  readonly #message: WholeMessage
  #state: 'due' | 'sent' | 'closed' = 'due'
  #onClose: (() => void)[] | undefined

  constructor(message: WholeMessage) {
    this.#message = message
  }

  get headersSent(): boolean {
    return this.#state !== 'due'
  }

  get writableEnded(): boolean {
    return this.#state !== 'due'
  }

  /** True if the operating system has accepted all data, or the client has disconnected. */
  get writableFinished(): boolean {
    return this.#state === 'closed'
  }

  get closed(): boolean {
    return this.#state === 'closed'
  }

  once(_: 'close', listener: () => void): void {
    this.#onClose ??= []
    this.#onClose.push(listener)
  }

  /** Sends the response. `head` must contain only Latin-1 characters. */
  send(head: string, body: string | Buffer, isLast: boolean): void {
    const { socket } = this.#message
    this.#state = 'sent'
    if (!socket.writable) {
      this.#close()
      return
    }
    const done = () => this.#close()
    const isText = typeof body === 'string' && Buffer.byteLength(body) === body.length
    if (isText && body.length <= JOINED_MAX) socket.write(head + body, 'latin1', done)
    else {
      socket.cork()
      socket.write(head, 'latin1')
      if (typeof body === 'string') socket.write(body, isText ? 'latin1' : 'utf8', done)
      else socket.write(body, done)
      socket.uncork()
    }
    if (isLast) socket.destroySoon()
  }

  /** Streams a body in chunks, through a response of Node. */
  async stream(status: number, headers: string[], body: AsyncIterable<Buffer>, isLast: boolean): Promise<void> {
    const { socket, method } = this.#message
    this.#state = 'sent'
    const request = Object.assign(new IncomingMessage(socket), { method, httpVersionMajor: 1, httpVersionMinor: 1 })
    const response = new ServerResponse(request)
    response.assignSocket(socket)
    response.writeHead(status, headers)
    response.flushHeaders()
    try {
      await pipeline(Readable.from(body), response)
    } finally {
      response.detachSocket(socket)
      this.#close()
    }
    if (isLast) socket.destroySoon()
  }

  destroy(): void {
    this.#message.socket.destroy()
    this.#close()
  }

  #close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    const listeners = this.#onClose
    this.#onClose = undefined
    for (const listener of listeners ?? []) listener()
  }
}

/** The maximum size of a body that is copied behind its head and sent in the same write. */
const JOINED_MAX = 16 * 1024
