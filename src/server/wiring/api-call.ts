/** Requests to the API of another server, over the injected network. */
import net from 'node:net'
import { attempt } from '../../base/attempt.js'
import type { Clock } from '../../base/clock.js'
import { callHttp, type HttpCall } from '../../base/http-call.js'
import { LIMITS } from '../../base/limits.js'
import { isJsonObject } from '../../base/json.js'
import { textsOfJson } from '../../base/json-print.js'
import { limitSignal } from '../../base/linked-signal.js'
import { linkText } from '../../base/link-text.js'
import { readNamedText } from '../../base/named-file.js'
import { type TlsTrust, trustOf } from '../../base/system-roots.js'
import { formatHostPort, type Network } from '../../base/network.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { type JsonObject, parseJson } from '../../logical/json.js'
import type { WrappedCall } from '../../replication/host/host.js'

const CONNECT_TIMEOUT_MS = 10_000
/** Maximum duration of a call, in ms. A caller that needs a shorter timeout passes a signal. */
const CALL_TIMEOUT_MS = 60_000

interface ApiCall {
  readonly url: URL
  readonly method: 'GET' | 'PUT'
  readonly token: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
  readonly tls: ApiTls
  readonly signal?: AbortSignal | undefined
  /** Advice for the error message if the CA of the server's certificate is unknown, such as `check tls_ca_cert`. */
  readonly authorityHint: string
}

interface ApiTls extends TlsTrust {
  readonly serverName?: string
}

interface ApiAnswer {
  readonly status: number
  /** The body; an empty object if the body is not a JSON object. */
  readonly json: JsonObject
  /** The status and the errors of the body, for an error message. */
  readonly text: string
}

/**
 * Returns the content of a PEM file, or an empty string if `file` is empty. Throws LogicalError 503 if the file is
 * unreadable; the message begins with `reason`, such as `the seal needs`.
 */
export const readPem = (file: string, reason: string): string => {
  if (file === '') return ''
  try {
    return readNamedText(file)
  } catch (cause) {
    throw new LogicalError('unavailable', `${reason} ${file}, which cannot be read`, { cause })
  }
}

export const asObject = (value: unknown): JsonObject => (isJsonObject(value) ? value : {})

/** Calls the API as `callApi` does, with a timeout in ms. Parses the JSON body. */
export const askApi = async (
  call: ApiCall & { readonly signal: AbortSignal },
  { network, clock }: { readonly network: Network; readonly clock: Clock },
  timeoutMs: number,
): Promise<ApiAnswer> => {
  using limited = limitSignal(clock, timeoutMs, call.signal, `no response within ${timeoutMs / 1000} s`)
  const { status, body } = await callApi({ ...call, signal: limited.signal }, network)
  const json = readObject(body)
  return { status, json, text: [status, textsOfJson(json.errors).join('; ').trim()].join(' ').trim() }
}

const readObject = (text: string): JsonObject => attempt(() => asObject(parseJson(text))) ?? {}

/** Returns the URL of a path of the API at `address`. Throws LogicalError 400 if the address is invalid. */
export const apiUrl = (address: string, path: string): URL => {
  const text = `${address.replace(/\/+$/, '')}/v1/${path}`
  const isApi = /^https?:\/\/[^/]/i.test(text) && URL.canParse(text)
  if (!isApi) throw new LogicalError('invalid-request', `"${address}" is not the address of an API`)
  return new URL(text)
}

/**
 * Calls the API. Rejects with LogicalError 503 if no response arrives. The message names the call, the cause and what
 * to check.
 */
export const callApi = async (call: ApiCall, network: Network): Promise<{ status: number; body: string }> => {
  const headers = { 'X-Vault-Token': call.token, 'X-Vault-Request': 'true', ...call.headers, Connection: 'close' }
  const body = call.body === undefined ? '' : JSON.stringify(call.body)
  const { status, bytes } = await callUrl({ ...call, headers, body }, network)
  return { status, body: bytes.toString('utf8') }
}

/** Fetches a public document, such as the keys of an issuer. Rejects with LogicalError 503 unless the status is 200. */
export const fetchDocument = async (address: string, caPem: string, network: Network): Promise<Buffer> => {
  if (!/^https?:\/\/[^/]/i.test(address) || !URL.canParse(address)) throw invalid(`"${address}" is not a URL`)
  const url = new URL(address)
  const call = {
    url,
    method: 'GET',
    headers: { Connection: 'close' },
    authorityHint: 'add the CA certificate',
  } as const
  const { status, bytes } = await callUrl({ ...call, tls: { caPems: caPem === '' ? [] : [caPem] } }, network)
  if (status !== 200) throw new LogicalError('unavailable', `GET ${address}: the status is ${status}`)
  return bytes
}

type UrlCall = Omit<ApiCall, 'token' | 'body'> & { readonly body?: string }

const callUrl = async (call: UrlCall, network: Network): Promise<{ status: number; bytes: Buffer }> => {
  const { url, signal } = call
  const isTls = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const peer = formatHostPort(host, Number(url.port || (isTls ? 443 : 80)))
  try {
    return await callHttp({
      method: call.method,
      url: url.href,
      timeoutMs: CALL_TIMEOUT_MS,
      bytesMax: LIMITS.smallAnswerBytesMax,
      signal,
      headers: call.headers ?? {},
      body: call.body,
      dial: (ends) => network.dial(peer, { timeoutMs: CONNECT_TIMEOUT_MS, signal: ends }),
      // Reads the certificate authorities of the system only for requests that use TLS.
      tls: isTls ? tlsOptionsOf(call.tls, host) : undefined,
    })
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

/** Looks up or unwraps a wrapping token at the API of the cluster that created it, over the injected network. */
export const fetchWrapped = async (call: WrappedCall, network: Network): Promise<{ status: number; body: string }> => {
  const { address, step, token, signal, caPems, clientCertPem, clientKeyPem } = call
  return callApi(
    {
      url: apiUrl(address, `sys/wrapping/${step}`),
      method: 'PUT',
      token,
      tls: { caPems, clientCertPem, clientKeyPem },
      signal,
      authorityHint: 'check ca_file, ca_path or ca_cert',
    },
    network,
  )
}
