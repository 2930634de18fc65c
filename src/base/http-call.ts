/** The one HTTP client of the product: it dials, speaks TLS, follows redirects, and limits the size and the time of an answer. */
import http from 'node:http'
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

export interface HttpCall {
  readonly method: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | string | undefined
  /** Milliseconds until the whole answer is here. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** Limit of the body of the answer; `answerBytesMax` of the limits by default. */
  readonly bytesMax?: number | undefined
  /** A pool of connections for the origin of `url`; without one the connection serves this call alone. */
  readonly agent?: http.Agent | undefined
  /** For `https:` URLs. */
  readonly tls?: TlsOptions | undefined
  /** Connects in place of the system's network. */
  readonly dial?: ((signal: AbortSignal) => Promise<Duplex>) | undefined
  /** A socket file in place of host and port. */
  readonly socketPath?: string
  /** Redirects that are followed; 0 by default. */
  readonly redirectsMax?: number | undefined
}

interface HttpAnswer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly bytes: Buffer
}

/**
 * Sends one request and reads the whole answer; every valid status is an answer. Rejects with the error of the system, or with
 * one that names the limit or the redirect that was refused.
 */
export const callHttp = async (call: HttpCall): Promise<HttpAnswer> => {
  const { timeoutMs, signal, bytesMax = LIMITS.answerBytesMax } = call
  const never = new AbortController().signal
  using limited = limitSignal(systemClock, timeoutMs, signal ?? never, `no answer within ${timeoutMs} ms`)
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

/** Sends one request and resolves with the head of the answer. The caller reads its body, or destroys it. */
export const openHttp = async (
  { method, url, headers, body, agent, tls: tlsOptions, dial, socketPath }: Omit<HttpCall, 'timeoutMs'>,
  signal: AbortSignal,
): Promise<http.IncomingMessage> => {
  const isTls = url.startsWith('https:')
  const { request } = isTls ? await import('node:https') : http
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
      reject(new Error('the connection was closed before there was an answer'))
    })
    outgoing.end(body)
  })
}

/** What is less is no end of an exchange, or no status at all. */
const STATUS_MIN = 200

const readBody = async (answer: http.IncomingMessage, bytesMax: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new Error(`the answer is too large: the limit is ${bytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308])
const SECRET_HEADER = /^(?:x-vault-token|x-understudy-token|authorization|cookie)$/i

/** The request that an answer redirects to. Throws when it would be sent unprotected, or tell its secrets to another server. */
const redirectOf = (call: HttpCall, { statusCode = 0, headers }: http.IncomingMessage): HttpCall | undefined => {
  const { location } = headers
  if (!REDIRECTS.has(statusCode) || location === undefined) return undefined
  const from = new URL(call.url)
  if (!URL.canParse(location, call.url)) throw new Error('the server redirects to no address')
  const to = new URL(location, from)
  if (from.protocol === 'https:' && to.protocol !== 'https:') throw new Error('redirect would cause protocol downgrade')
  if (to.origin === from.origin) return { ...call, url: to.href }
  const isSecret = call.body !== undefined || Object.keys(call.headers ?? {}).some((name) => SECRET_HEADER.test(name))
  if (isSecret || !/^https?:$/.test(to.protocol))
    throw new Error(`redirect to ${to.origin}: tokens and bodies go to no other server. Set the address to that server`)
  return { ...call, url: to.href, agent: undefined }
}

/** The members of a JSON object; undefined for anything else. */
export const parseJsonObject = (bytes: Buffer): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
