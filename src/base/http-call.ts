/**
 * The only HTTP client of Understudy: connects, uses TLS, follows redirects, and limits the size and the duration of
 * responses.
 */
import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request as requestInPlain } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import { systemClock } from './clock.js'
import { LIMITS } from './limits.js'
import { limitSignal } from './linked-signal.js'

type TlsOptions = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'servername' | 'host' | 'rejectUnauthorized' | 'secureContext'
>

/**
 * Marks a request of an observer, such as a page or the lab daemon. Servers leave it out of the request counts in
 * `GET /_understudy/v1/info`.
 */
export const OBSERVER_HEADER = 'x-understudy-observer'

export interface HttpCall {
  readonly method: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | string | undefined
  /** Timeout for the whole response, in milliseconds. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** Maximum size of the response body, in bytes; default `answerBytesMax` of the limits. */
  readonly bytesMax?: number | undefined
  /** A connection pool for the origin of `url`. By default, the call opens a connection of its own. */
  readonly agent?: Agent | undefined
  /** The TLS options of `https:` URLs. */
  readonly tls?: TlsOptions | undefined
  /** Opens the connection, instead of the network of the system. */
  readonly dial?: ((signal: AbortSignal) => Promise<Duplex>) | undefined
  /** A Unix socket to use instead of host and port. */
  readonly socketPath?: string
  /** Maximum number of redirects to follow; default 0. */
  readonly redirectsMax?: number | undefined
}

interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/**
 * Sends one request and reads the whole response. Resolves for every valid status code. Rejects with a system error, or
 * with an error about an exceeded limit or a rejected redirect.
 */
export const callHttp = async (call: HttpCall): Promise<HttpAnswer> => {
  const { timeoutMs, signal, bytesMax = LIMITS.answerBytesMax } = call
  const never = new AbortController().signal
  using limited = limitSignal(systemClock, timeoutMs, signal ?? never, `no response within ${timeoutMs} ms`)
  try {
    let request = call
    for (let left = call.redirectsMax ?? 0; ; left--) {
      const answer = await openHttp(request, limited.signal)
      const next = left > 0 ? redirectOf(request, answer) : undefined
      if (next === undefined)
        return { status: answer.statusCode ?? 0, headers: answer.headers, bytes: await readBody(answer, bytesMax) }
      answer.destroy()
      request = next
    }
  } catch (error) {
    throw limited.signal.aborted ? limited.signal.reason : error
  }
}

/** Sends one request and resolves with the response headers. The caller must read or destroy the body. */
export const openHttp = async (
  { method, url, headers, body, agent, tls: tlsOptions, dial, socketPath }: Omit<HttpCall, 'timeoutMs'>,
  signal: AbortSignal,
): Promise<IncomingMessage> => {
  const isTls = url.startsWith('https:')
  const request = isTls ? (await import('node:https')).request : requestInPlain
  const raw = await dial?.(signal)
  const tls = raw && isTls ? await import('node:tls') : undefined
  const connect = raw && (() => (tls ? tls.connect({ ...tlsOptions, socket: raw }) : (raw as Socket)))
  const connection = connect ? { createConnection: connect } : { ...tlsOptions, agent: agent ?? false }
  return new Promise((resolve, reject) => {
    const options = {
      ...connection,
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }) },
      signal,
      ...(socketPath === undefined ? {} : { socketPath }),
    }
    const outgoing = request(url, options, (answer) => {
      const { statusCode = 0 } = answer
      if (statusCode >= STATUS_MIN) return resolve(answer)
      outgoing.destroy(new Error(`malformed HTTP response: status ${String(statusCode).padStart(3, '0')}`))
    })
    outgoing.on('error', reject)
    outgoing.on('close', () => {
      raw?.destroy()
      reject(new Error('the connection was closed before a response arrived'))
    })
    outgoing.end(body)
  })
}

/** The lowest status code of a final response. Lower codes are interim or invalid. */
const STATUS_MIN = 200

const readBody = async (answer: IncomingMessage, bytesMax: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new Error(`the response is too large: the limit is ${bytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308])
const SECRET_HEADER = /^(?:x-vault-token|x-understudy-token|authorization|cookie)$/i

/**
 * Returns the request for a redirect; undefined for any other response. Throws if the redirect would disable TLS, or
 * would send secrets to another server.
 */
const redirectOf = (call: HttpCall, { statusCode = 0, headers }: IncomingMessage): HttpCall | undefined => {
  const { location } = headers
  if (!REDIRECTS.has(statusCode) || location === undefined) return undefined
  const from = new URL(call.url)
  if (!URL.canParse(location, call.url)) throw new Error('the redirect has no valid address')
  const to = new URL(location, from)
  if (from.protocol === 'https:' && to.protocol !== 'https:') throw new Error('redirect would cause protocol downgrade')
  if (to.origin === from.origin) return { ...call, url: to.href }
  const isSecret = call.body !== undefined || Object.keys(call.headers ?? {}).some((name) => SECRET_HEADER.test(name))
  if (isSecret || !/^https?:$/.test(to.protocol))
    throw new Error(
      `redirect to ${to.origin}: tokens and request bodies are not sent to another server. Set the address to that server`,
    )
  return { ...call, url: to.href, agent: undefined }
}
