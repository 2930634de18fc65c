/** One request to another server's API, over the injected network. */
import net from 'node:net'
import { callHttp, type HttpCall } from '../../base/http-call.js'
import { LIMITS } from '../../base/limits.js'
import { linkText } from '../../base/link-text.js'
import { trustOf } from '../../base/system-roots.js'
import { formatHostPort, type Network } from '../../base/network.js'
import { LogicalError } from '../../logical/errors.js'

const CONNECT_TIMEOUT_MS = 10_000
/** Callers with a shorter timeout pass a signal. */
const CALL_TIMEOUT_MS = 60_000

interface ApiCall {
  readonly url: URL
  readonly method: 'GET' | 'PUT'
  readonly token: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
  readonly tls: ApiTls
  readonly signal?: AbortSignal | undefined
  /** What to check if the CA of the server's certificate is unknown. */
  readonly authorityHint: string
}

interface ApiTls {
  /** Empty: the system's CAs. */
  readonly caPems: readonly string[]
  /** Empty: none. */
  readonly clientCertPem: string
  readonly clientKeyPem: string
  /** Overrides the host of the address. */
  readonly serverName?: string
  readonly skipVerify?: boolean
}

/** Returns the URL of a path below the API of `address`. Throws 400 for an invalid address. */
export const apiUrl = (address: string, path: string): URL => {
  const text = `${address.replace(/\/+$/, '')}/v1/${path}`
  const isApi = /^https?:\/\/[^/]/i.test(text) && URL.canParse(text)
  if (!isApi) throw new LogicalError('invalid-request', `"${address}" is not the address of an API`)
  return new URL(text)
}

/** Calls the API. Rejects with a LogicalError that names the call and what to check. */
export const callApi = async (call: ApiCall, network: Network): Promise<{ status: number; body: string }> => {
  const { url, signal } = call
  const isTls = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const peer = formatHostPort(host, Number(url.port || (isTls ? 443 : 80)))
  try {
    const { status, bytes } = await callHttp({
      ...{
        method: call.method,
        url: url.href,
        timeoutMs: CALL_TIMEOUT_MS,
        bytesMax: LIMITS.smallAnswerBytesMax,
        signal,
      },
      headers: { 'X-Vault-Token': call.token, 'X-Vault-Request': 'true', ...call.headers, Connection: 'close' },
      body: call.body === undefined ? '' : JSON.stringify(call.body),
      dial: (ends) => network.dial(peer, { timeoutMs: CONNECT_TIMEOUT_MS, signal: ends }),
      tls: tlsOptionsOf(call.tls, host),
    })
    return { status, body: bytes.toString('utf8') }
  } catch (cause) {
    if (cause instanceof LogicalError) throw cause
    const text = linkText(cause, { isTls, authorityHint: call.authorityHint })
    throw new LogicalError('unavailable', `${call.method} ${url.href}: ${text}`, { cause })
  }
}

const tlsOptionsOf = (options: ApiTls, host: string): HttpCall['tls'] => {
  const name = options.serverName || (net.isIP(host) ? '' : host)
  return { ...(name === '' ? {} : { servername: name }), host: options.serverName || host, ...trustOf(options) }
}
