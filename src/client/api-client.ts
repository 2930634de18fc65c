import { textsOfJson } from '../base/json-print.js'
import http, { type IncomingHttpHeaders } from 'node:http'
import https from 'node:https'
import { callHttp, OBSERVER_HEADER } from '../base/http-call.js'
import { parseJsonObject } from '../base/json.js'
import { trustOf } from '../base/system-roots.js'
import type { Exchange } from './exchange.js'

interface ApiClientOptions {
  /** The address, such as `http://127.0.0.1:8200`, or a function that returns it, which is called at each request. */
  readonly address: string | (() => string)
  readonly token?: string | undefined
  /** Provides the token if `token` is not set. If the server rejects the token with 403, provides another token. */
  readonly tokens?: TokenSource | undefined
  /** The token for the endpoints below `/_understudy/`, which accept no other token. */
  readonly labApiToken?: string | undefined
  /** Called with every request and its status code, before the caller receives the response. */
  readonly onAnswer?: ((call: MadeCall) => Promise<void>) | undefined
  readonly namespace?: string | undefined
  /** Certificate authorities that verify the server. By default, those of Node and of the operating system. */
  readonly caPem?: string | undefined
  readonly clientCertPem?: string | undefined
  readonly clientKeyPem?: string | undefined
  readonly skipVerify?: boolean | undefined
  readonly serverName?: string | undefined
  /** Sends the requests instead of HTTP. */
  readonly exchange?: Exchange | undefined
  /** Timeout of a request in milliseconds, including the whole response; default 60,000. */
  readonly timeoutMs?: number | undefined
  /** Marks the requests as those of an observer, which servers leave out of their request counts. */
  readonly isObserver?: boolean | undefined
  /** Maximum number of redirects to follow; default 0. */
  readonly redirectsMax?: number | undefined
}

/** Provides tokens for a server whose tokens change, for example when its replication role changes. */
export interface TokenSource {
  /** Returns the current token. Returns undefined if no token is valid: the request then contains no token. */
  current(): Promise<string | undefined>
  /**
   * Returns another token after the server rejected a token. Returns the same token or undefined if no other token
   * exists.
   */
  insteadOf(refused: string | undefined): Promise<string | undefined>
}

/** A request and the status code of its response. */
interface MadeCall {
  readonly method: string
  readonly path: string
  readonly status: number
}

/**
 * The properties of a request in addition to its method and path.
 *
 * @example
 * import { type ApiCall, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('single')
 * const wrapped: ApiCall = { body: { ttl: '5m' }, headers: { 'X-Vault-Wrap-TTL': '60s' } }
 * await lab.A.client.call('POST', 'auth/token/create', wrapped)
 */
export interface ApiCall {
  /** The body, which is sent as JSON. */
  readonly body?: unknown
  /** The body, which is sent unchanged. */
  readonly raw?: Buffer
  readonly headers?: Readonly<Record<string, string>>
  /** The query parameters. A list becomes a repeated parameter. */
  readonly query?: Query
  readonly token?: string
  /** Maximum size of the response body in bytes; default 64 MiB. */
  readonly bytesMax?: number | undefined
}

export type Query = Readonly<Record<string, string | readonly string[]>>

/**
 * A response with any status. `json` is undefined if the body is not JSON.
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
 * The server did not respond: no listener, a broken connection, or a timeout. `cause` is the system's error.
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
 * An error response: its status, and the texts of its `errors`.
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
 * A thin client of the HTTP API with one connection pool. Paths are below `/v1/` unless they begin with a slash. Its
 * methods reject with ApiUnreachable if no response arrives within `timeoutMs` milliseconds (60,000 by default). All
 * except `send` reject with ApiError for a status of 400 or more.
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

  /** Returns a client of the same server with other options, for example another token. */
  with(changes: Partial<ApiClientOptions>): ApiClient {
    const own = 'token' in changes ? { tokens: undefined } : {}
    return new (this.constructor as typeof ApiClient)({ ...this.#options, ...own, ...changes })
  }

  /** Sends one request. Resolves for every status code. Rejects with ApiUnreachable if no response arrives. */
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
    const { namespace, labApiToken, exchange, isObserver, timeoutMs = TIMEOUT_MS } = this.#options
    const url = this.urlOf(path, call.query)
    const body = call.raw ?? (call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body)))
    const headers: Record<string, string> = {
      'X-Vault-Request': 'true',
      ...(token ? { 'X-Vault-Token': token } : {}),
      ...(labApiToken && path.startsWith('/_understudy/') ? { 'X-Understudy-Token': labApiToken } : {}),
      ...(namespace ? { 'X-Vault-Namespace': namespace } : {}),
      ...(isObserver ? { [OBSERVER_HEADER]: 'true' } : {}),
      ...(body ? { 'Content-Type': contentType(method) } : {}),
      ...call.headers,
    }
    const { redirectsMax, caPem, serverName: servername } = this.#options
    const { bytesMax } = call
    const isTls = url.startsWith('https:')
    try {
      // Reads the certificate authorities of the system only for requests that use TLS.
      const tls =
        isTls && !exchange ? { ...trustOf({ ...this.#options, caPems: caPem ? [caPem] : [] }), servername } : undefined
      const sent = { method, url, headers, body, timeoutMs, bytesMax, agent: this.#agent, tls, redirectsMax }
      const answer = await (exchange ? exchange({ method, url, headers, body, timeoutMs }) : callHttp(sent))
      return { ...answer, json: parseJsonObject(answer.bytes) }
    } catch (error) {
      throw new ApiUnreachable(method, url, error instanceof Error ? error : new Error(String(error)))
    }
  }

  /**
   * Sends one request and returns the JSON body of the response. Does not validate that the body has the type `Body`.
   * Rejects with ApiError for a status code of 400 or more, unless `expected` contains the code.
   */
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

  /**
   * Reads a path and returns the JSON body of the response. With `{ list: 'true' }`, the body contains the names below
   * the path.
   */
  read<Body = Record<string, unknown>>(path: string, query: Readonly<Record<string, string>> = {}): Promise<Body> {
    return this.call('GET', path, { query })
  }

  /** Sends a body as JSON. Resolves to the body of the response, or to `{}` without one. */
  write<Body = Record<string, unknown>>(path: string, body: unknown = {}): Promise<Body> {
    return this.call('PUT', path, { body })
  }

  /** Deletes a path. Resolves like `write`. */
  delete(path: string): Promise<Record<string, unknown>> {
    return this.call('DELETE', path)
  }

  /** Closes the connections of this client. The next request opens new connections. */
  close(): void {
    this.#agent.destroy()
  }

  /** Returns the URL of a request for this path, which is below `/v1/` unless it begins with a slash. */
  urlOf(path: string, query: Query = {}): string {
    const target = path.startsWith('/') ? path : `/v1/${path}`
    const pairs = Object.entries(query).flatMap(([key, value]) =>
      [value].flat().map((each): [string, string] => [key, each]),
    )
    const search = new URLSearchParams(pairs).toString()
    return this.address + target.split('/').map(encodeURIComponent).join('/') + (search && `?${search}`)
  }
}

export const errorsOf = (answer: ApiAnswer): string[] => textsOfJson(answer.json?.errors)

const contentType = (method: string): string =>
  method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
