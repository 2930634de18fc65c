/** One request at the API of another server, over the injected network. */
import http from 'node:http'
import net from 'node:net'
import type { Duplex } from 'node:stream'
import tls from 'node:tls'
import { linkText } from '../../base/link-text.js'
import { formatHostPort, type Network } from '../../base/network.js'
import { LogicalError } from '../../logical/errors.js'

const CONNECT_TIMEOUT_MS = 10_000
/** An activation bundle is a few kilobytes; nothing larger is read from somebody who only claims to be a server. */
const ANSWER_BYTES_MAX = 1 << 20

interface ApiCall {
  readonly url: URL
  readonly method: 'GET' | 'PUT'
  readonly token: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
  readonly tls: ApiTls
  readonly signal?: AbortSignal | undefined
  /** What to check when the authority of the other side's certificate is not known. */
  readonly authorityHint: string
}

interface ApiTls {
  /** Empty: the system's roots. */
  readonly caPems: readonly string[]
  /** Empty: none. */
  readonly clientCertPem: string
  readonly clientKeyPem: string
  /** In place of the host of the address. */
  readonly serverName?: string
  readonly skipVerify?: boolean
}

/** The URL of a path below the API of `address`. Throws 400 for what is no address. */
export const apiUrl = (address: string, path: string): URL => {
  const text = `${address.replace(/\/+$/, '')}/v1/${path}`
  const isApi = /^https?:\/\/[^/]/i.test(text) && URL.canParse(text)
  if (!isApi) throw new LogicalError('invalid-request', `"${address}" is not the address of an API`)
  return new URL(text)
}

/** Rejects with a LogicalError that says what was tried and what to check. */
export const callApi = async (call: ApiCall, network: Network): Promise<{ status: number; body: string }> => {
  const { url, signal } = call
  const isTls = url.protocol === 'https:'
  const port = Number(url.port || (isTls ? 443 : 80))
  const host = url.hostname.replace(/^\[|\]$/g, '')
  try {
    const raw = await network.dial(formatHostPort(host, port), {
      timeoutMs: CONNECT_TIMEOUT_MS,
      ...(signal && { signal }),
    })
    const socket = isTls ? await secure(raw, host, call.tls, signal) : raw
    return await send(socket, call)
  } catch (cause) {
    if (cause instanceof LogicalError) throw cause
    const text = linkText(cause, { isTls, authorityHint: call.authorityHint })
    throw new LogicalError('unavailable', `${call.method} ${url.href}: ${text}`, { cause })
  }
}

const secure = (raw: Duplex, host: string, options: ApiTls, signal: AbortSignal | undefined): Promise<Duplex> =>
  new Promise((resolve, reject) => {
    const name = options.serverName || (net.isIP(host) ? '' : host)
    const socket = tls.connect({
      socket: raw,
      ...(name === '' ? {} : { servername: name }),
      host: options.serverName || host,
      ...(options.caPems.length > 0 ? { ca: [...options.caPems] } : {}),
      ...(options.clientCertPem === '' ? {} : { cert: options.clientCertPem, key: options.clientKeyPem }),
      ...(options.skipVerify ? { rejectUnauthorized: false } : {}),
    })
    const finish = (error: unknown) => {
      signal?.removeEventListener('abort', onAbort)
      if (error === undefined) return resolve(socket)
      socket.on('error', () => undefined)
      socket.destroy()
      raw.destroy()
      reject(error)
    }
    const onAbort = () => finish(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    socket.once('error', finish)
    socket.once('close', () => finish(new Error('the connection was closed')))
    socket.once('secureConnect', () => finish(undefined))
    if (signal?.aborted) onAbort()
  })

const send = (socket: Duplex, call: ApiCall): Promise<{ status: number; body: string }> =>
  new Promise((resolve, reject) => {
    const { url, method, token, signal } = call
    const text = call.body === undefined ? '' : JSON.stringify(call.body)
    const request = http.request(
      {
        method,
        path: url.pathname,
        headers: {
          Host: url.host,
          'X-Vault-Token': token,
          'X-Vault-Request': 'true',
          ...call.headers,
          Connection: 'close',
          'Content-Length': String(Buffer.byteLength(text)),
        },
        createConnection: () => socket as net.Socket,
        signal,
      },
      (answer) => {
        const chunks: Buffer[] = []
        let bytes = 0
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > ANSWER_BYTES_MAX) answer.destroy(new Error('the answer is too large'))
          chunks.push(chunk)
        })
        answer.on('error', reject)
        answer.on('end', () => {
          socket.destroy()
          resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') })
        })
      },
    )
    request.on('error', reject)
    request.end(text)
  })
