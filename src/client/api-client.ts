import { textsOfJson } from '../base/json-print.js'
import http, { type IncomingHttpHeaders } from 'node:http'
import https from 'node:https'
import { callHttp, parseJsonObject } from '../base/http-call.js'
import { trustOf } from '../base/system-roots.js'
import type { Exchange } from './exchange.js'

/** Where and as whom requests are made. */
interface ApiClientOptions {
  /** `http://127.0.0.1:8200`; asked for at each request where it may become another one. */
  readonly address: string | (() => string)
  readonly token?: string | undefined
  /** Asked for a token where none is given; a refusal (403) asks once more. */
  readonly tokens?: TokenSource | undefined
  /** For the endpoints below `/_understudy/`, which ask for no other. */
  readonly labApiToken?: string | undefined
  /** Told of every answer before the caller has it. */
  readonly onAnswer?: ((call: MadeCall) => Promise<void>) | undefined
  readonly namespace?: string | undefined
  /** What certificates of servers are verified with; Node's and the system's authorities by default. */
  readonly caPem?: string | undefined
  readonly clientCertPem?: string | undefined
  readonly clientKeyPem?: string | undefined
  readonly skipVerify?: boolean | undefined
  readonly serverName?: string | undefined
  /** Takes the place of HTTP. */
  readonly exchange?: Exchange | undefined
  /** Milliseconds after which a request without a whole answer is given up; 60,000 by default. */
  readonly timeoutMs?: number | undefined
  /** Redirects that are followed; 0 by default. */
  readonly redirectsMax?: number | undefined
}

/** Who knows the token of a server whose tokens change, as they do with its role in replication. */
export interface TokenSource {
  /** Undefined where none works: the request is sent without one. */
  current(): Promise<string | undefined>
  /** After this one was refused: the one to try instead; the same, or undefined, when there is no better. */
  insteadOf(refused: string | undefined): Promise<string | undefined>
}

/** A request that was answered. */
interface MadeCall {
  readonly method: string
  readonly path: string
  readonly status: number
}

/**
 * The parts of a request beyond its method and path.
 *
 * @example
 * import { type ApiCall, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('single')
 * const wrapped: ApiCall = { body: { ttl: '5m' }, headers: { 'X-Vault-Wrap-TTL': '60s' } }
 * await lab.A.client.call('POST', 'auth/token/create', wrapped)
 */
export interface ApiCall {
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is. */
  readonly raw?: Buffer
  readonly headers?: Readonly<Record<string, string>>
  /** A list is sent as the same key several times. */
  readonly query?: Query
  readonly token?: string
  /** Limit of the body of the answer; 64 MiB by default. */
  readonly bytesMax?: number | undefined
}

export type Query = Readonly<Record<string, string | readonly string[]>>

/**
 * An answer, whatever its status. `json` is undefined when the body is none.
 *
 * @example
 * import { type ApiAnswer, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('dr')
 * const { status, json }: ApiAnswer = await lab.B.anonymous.send('GET', 'sys/health')
 * console.log(status, json?.replication_dr_mode) // 472 secondary
 */
export interface ApiAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly json: Record<string, unknown> | undefined
}

/**
 * No answer came: nothing listens, the connection broke, or time ran out. The cause has what the system said.
 *
 * @example
 * import { ApiClient, ApiUnreachable } from 'understudy-lab'
 *
 * const client = new ApiClient({ address: 'http://127.0.0.1:9', timeoutMs: 1_000 })
 * await client.read('sys/health').catch((error: unknown) => {
 *   if (!(error instanceof ApiUnreachable)) throw error
 * })
 */
export class ApiUnreachable extends Error {
  override readonly name = 'ApiUnreachable'
  readonly url: string

  constructor(method: string, url: string, cause: Error) {
    super(`${method} ${url}: ${cause.message}`, { cause })
    this.url = url
  }
}

/**
 * An answer that says no: its status, and the texts of its `errors`.
 *
 * @example
 * import { ApiError, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('single')
 * await lab.A.anonymous.read('sys/mounts').catch((error: unknown) => {
 *   if (!(error instanceof ApiError)) throw error
 *   console.log(error.status, error.errors) // 403 [ 'permission denied' ]
 * })
 */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly errors: readonly string[]
  readonly method: string
  readonly url: string

  constructor(method: string, url: string, status: number, errors: readonly string[]) {
    super(`${method} ${url}: ${status}${errors.length > 0 ? ` ${errors.join('; ')}` : ''}`)
    this.method = method
    this.url = url
    this.status = status
    this.errors = errors
  }
}

const TIMEOUT_MS = 60_000

/**
 * A thin client of the HTTP API: one connection pool, paths below `/v1/` unless they begin with a slash. Its methods
 * reject with ApiUnreachable when no answer comes within `timeoutMs` milliseconds (60 000 by default), and all but
 * `send` with ApiError for a status from 400 on.
 *
 * @example
 * import { ApiClient } from 'understudy-lab'
 *
 * const client = new ApiClient({ address: 'http://127.0.0.1:8200', token: 'root', timeoutMs: 5_000 })
 * await client.write('secret/data/greeting', { data: { word: 'hello' } })
 * const { data } = await client.read('secret/data/greeting')
 * client.close()
 */
export class ApiClient {
  readonly #options: ApiClientOptions
  readonly #agent: http.Agent

  constructor(options: ApiClientOptions) {
    this.#options = options
    const { Agent } = this.address.startsWith('https:') ? https : http
    this.#agent = new Agent({ keepAlive: true })
  }

  get address(): string {
    const { address } = this.#options
    return (typeof address === 'string' ? address : address()).replace(/\/+$/, '')
  }

  /** The same server with other settings, such as a token. */
  with(changes: Partial<ApiClientOptions>): ApiClient {
    const own = 'token' in changes ? { tokens: undefined } : {}
    return new ApiClient({ ...this.#options, ...own, ...changes })
  }

  /** Sends one request. Rejects with ApiUnreachable; every status is an answer. */
  async send(method: string, path: string, call: ApiCall = {}): Promise<ApiAnswer> {
    const answer = await this.#sendWithToken(method, path, call)
    await this.#options.onAnswer?.({ method, path, status: answer.status })
    return answer
  }

  async #sendWithToken(method: string, path: string, call: ApiCall): Promise<ApiAnswer> {
    const { tokens } = this.#options
    const given = call.token ?? this.#options.token
    if (given !== undefined || !tokens) return this.#sendAs(given, method, path, call)
    const token = await tokens.current()
    const answer = await this.#sendAs(token, method, path, call)
    if (answer.status !== 403) return answer
    const better = await tokens.insteadOf(token)
    return better === undefined || better === token ? answer : this.#sendAs(better, method, path, call)
  }

  async #sendAs(token: string | undefined, method: string, path: string, call: ApiCall): Promise<ApiAnswer> {
    const { namespace, labApiToken, exchange, timeoutMs = TIMEOUT_MS } = this.#options
    const url = this.urlOf(path, call.query)
    const body = call.raw ?? (call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body)))
    const headers: Record<string, string> = {
      'X-Vault-Request': 'true',
      ...(token ? { 'X-Vault-Token': token } : {}),
      ...(labApiToken && path.startsWith('/_understudy/') ? { 'X-Understudy-Token': labApiToken } : {}),
      ...(namespace ? { 'X-Vault-Namespace': namespace } : {}),
      ...(body ? { 'Content-Type': contentType(method) } : {}),
      ...call.headers,
    }
    if (exchange) return carry(exchange, { method, url, headers, body, timeoutMs })
    const { redirectsMax, caPem, serverName: servername } = this.#options
    const { bytesMax } = call
    const isTls = url.startsWith('https:')
    try {
      // The system's authorities are read when they are needed, and not before.
      const tls = isTls ? { ...trustOf({ ...this.#options, caPems: caPem ? [caPem] : [] }), servername } : undefined
      const sent = { method, url, headers, body, timeoutMs, bytesMax, agent: this.#agent, tls, redirectsMax }
      const answer = await callHttp(sent)
      return { ...answer, json: parseJsonObject(answer.bytes) }
    } catch (error) {
      throw new ApiUnreachable(method, url, error instanceof Error ? error : new Error(String(error)))
    }
  }

  /** Sends one request and returns its JSON body, whose type nobody checks; throws ApiError from 400 on, unless expected. */
  async call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    call: ApiCall = {},
    expected: readonly number[] = [],
  ): Promise<Body> {
    const answer = await this.send(method, path, call)
    if (answer.status >= 400 && !expected.includes(answer.status)) {
      throw new ApiError(method, this.urlOf(path), answer.status, errorsOf(answer))
    }
    return (answer.json ?? {}) as Body
  }

  /** The JSON body of the answer; `{ list: 'true' }` has the names below a path. */
  read<Body = Record<string, unknown>>(path: string, query: Readonly<Record<string, string>> = {}): Promise<Body> {
    return this.call('GET', path, { query })
  }

  /** Sends a body as JSON; resolves with that of the answer, `{}` where it has none. */
  write<Body = Record<string, unknown>>(path: string, body: unknown = {}): Promise<Body> {
    return this.call('PUT', path, { body })
  }

  /** As `write`, without a body. */
  delete(path: string): Promise<Record<string, unknown>> {
    return this.call('DELETE', path)
  }

  /** Ends its connections; the next request makes new ones. */
  close(): void {
    this.#agent.destroy()
  }

  /** Where a request for this path goes. */
  urlOf(path: string, query: Query = {}): string {
    const target = path.startsWith('/') ? path : `/v1/${path}`
    const pairs = Object.entries(query).flatMap(([key, value]) =>
      [value].flat().map((each): [string, string] => [key, each]),
    )
    const search = new URLSearchParams(pairs).toString()
    return this.address + target.split('/').map(encodeURIComponent).join('/') + (search && `?${search}`)
  }
}

const carry = async (exchange: Exchange, departure: Parameters<Exchange>[0]): Promise<ApiAnswer> => {
  const answer = await exchange(departure).catch((cause: Error) => {
    throw new ApiUnreachable(departure.method, departure.url, cause)
  })
  return { ...answer, json: parseJsonObject(answer.bytes) }
}

/** Texts of an answer that says no. */
export const errorsOf = (answer: ApiAnswer): string[] => textsOfJson(answer.json?.errors)

const contentType = (method: string): string =>
  method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
