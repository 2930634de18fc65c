import { STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '../../base/clock.js'
import { TurnEnd } from '../../base/turn.js'
import type { Rendered } from '../../logical/incoming.js'
import { corsHeaders, type WebSettings } from '../message/cors.js'
import { type Answer, DirectAnswer, type Message } from '../message/direct-answer.js'

export interface SenderOptions {
  readonly clock: Clock
  /** The idle timeout that responses announce, in milliseconds. */
  readonly idleMs: number
  /** Headers for every response, as alternating names and values. */
  readonly ownHeaders?: readonly string[]
  /** Returns the settings for web pages; undefined while they are not readable. */
  readonly web?: (() => WebSettings | undefined) | undefined
}

/**
 * Sends responses, without charset, ETag or caching. Flushes all responses of a turn of the event loop together at its
 * end. If each response were flushed separately, the client process would wake up and sleep again for each of them,
 * which takes longer than the response itself.
 */
export class Sender {
  readonly #clock: Clock
  readonly #keepAlive: string
  readonly #options: SenderOptions
  readonly #turnEnd = new TurnEnd()
  #second = 0
  #date = ''

  constructor(options: SenderOptions) {
    const { clock, idleMs } = options
    this.#clock = clock
    this.#options = options
    const seconds = Math.floor(idleMs / 1000)
    this.#keepAlive = `Connection: keep-alive\r\n${idleMs > 0 ? `Keep-Alive: timeout=${seconds}\r\n` : ''}\r\n`
  }

  respond(request: Message, response: Answer, rendered: Rendered, isLast: boolean): Promise<void> {
    const { status, body } = rendered
    const headers = headersOf(request, rendered, isLast)
    const { ownHeaders = [], web } = this.#options
    if (ownHeaders.length > 0) headers.push(...ownHeaders)
    const { origin } = request.headers
    if (origin !== undefined) headers.push(...corsHeaders(web?.()?.cors, origin))
    const isSized = typeof body === 'string' || Buffer.isBuffer(body)
    if (isSized && status !== 204) headers.push('Content-Length', String(Buffer.byteLength(body)))
    if (response instanceof DirectAnswer) {
      if (!isSized) return response.stream(status, headers, body, isLast)
      const head = this.#printHead(status, headers, isLast)
      const sent = status === 204 || status === 304 || request.method === 'HEAD' ? '' : body
      return this.#turnEnd.add(() => response.send(head, sent, isLast))
    }
    response.writeHead(status, headers)
    if (isSized) return this.#turnEnd.add(() => response.end(body))
    response.flushHeaders()
    return pipeline(Readable.from(body), response)
  }

  /** Returns the head of a response as text. Throws if a header name or value is invalid. */
  #printHead(status: number, headers: readonly string[], isLast: boolean): string {
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
    for (let at = 0; at + 1 < headers.length; at += 2) {
      const name = headers[at] ?? ''
      const value = headers[at + 1] ?? ''
      if (!OWN.has(name)) {
        validateHeaderName(name)
        validateHeaderValue(name, value)
      }
      head += `${name}: ${value}\r\n`
    }
    return `${head}Date: ${this.#printDate()}\r\n${isLast ? '\r\n' : this.#keepAlive}`
  }

  #printDate(): string {
    const nowMs = this.#clock.now()
    const second = Math.floor(nowMs / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#date = new Date(nowMs).toUTCString()
    }
    return this.#date
  }
}

/** Headers that this module sets itself. Their names and values require no validation. */
const OWN: ReadonlySet<string> = new Set(['Cache-Control', 'Content-Length', 'Connection'])

/** Returns the headers of a response, as alternating names and values. */
const headersOf = (request: Message, { contentType, headers }: Rendered, isLast: boolean): string[] => {
  const all = ['Cache-Control', 'no-store', 'Content-Type', contentType]
  for (const name in headers) all.push(name, headers[name] ?? '')
  const namespace = request.headers['x-vault-namespace']
  if (typeof namespace === 'string') all.push('X-Vault-Namespace', namespace)
  if (isLast) all.push('Connection', 'close')
  return all
}

/**
 * Returns a complete raw response for a connection without a parsed message. The caller closes the connection after it.
 */
export const rawAnswer = (status: number, reason: string, text: string): string => {
  const body = JSON.stringify({ errors: text === '' ? [] : [text] })
  return [
    `HTTP/1.1 ${status} ${reason}`,
    'Cache-Control: no-store',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
