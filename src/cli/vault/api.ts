/**
 * Sends requests like Vault's client: retries a request, follows one redirect, and requests wrapping. With
 * `-output-curl-string` or `-output-policy`, throws `Preview` instead of sending the request.
 */
import { Backoff } from '../../base/backoff.js'
import { printJson, textsOfJson } from '../../base/json-print.js'
import { type ApiAnswer, type ApiCall, ApiClient, ApiUnreachable, type Query } from '../../client/api-client.js'
import {
  CliError,
  localError,
  parseBody,
  parseSecret,
  remoteError,
  type Secret,
  VAULT_EXIT,
  type VaultIo,
} from './model.js'
import { type ClientSettings, Preview, renderPreview } from './settings.js'

/** Each pause is between 1 and 1.5 seconds, as in Vault. */
const RETRY = { initialMs: 1250, maxMs: 1500 }
/** The wrapping TTL of a request to sys/wrapping/wrap without -wrap-ttl, because this path requires a TTL. */
const WRAP_TTL_DEFAULT = '5m'

export interface RequestOptions {
  /** The request body, which is sent as JSON. */
  readonly body?: unknown
  /** The request body, which is sent unchanged. */
  readonly raw?: Buffer
  readonly query?: Query
  readonly token?: string
  /** Status codes from 400 that do not throw, because the caller handles them. */
  readonly expected?: readonly number[]
  /**
   * True for a request that prepares the actual request. The response is never wrapped, and the request is also sent
   * with `-output-curl-string`.
   */
  readonly isPreliminary?: boolean
  readonly isWrapped?: false
  readonly isRetried?: false
  /** True for a request to the root namespace, regardless of the setting `namespace`. */
  readonly isInRoot?: true
  /** Maximum size of the response body, in bytes. */
  readonly bytesMax?: number
}

/** Options of a request to the root namespace. */
export const ROOT = { isInRoot: true } as const

/** Options of a request that lists the keys below a path. */
export const LIST = { query: { list: 'true' } } as const

export class VaultApi {
  readonly settings: ClientSettings
  readonly #client: ApiClient
  readonly #io: Pick<VaultIo, 'clock' | 'random'>

  constructor(settings: ClientSettings, io: Pick<VaultIo, 'clock' | 'random'>) {
    this.settings = settings
    this.#io = io
    const { address, timeoutMs, tls } = settings
    this.#client = new ApiClient({ address, timeoutMs, ...tls, redirectsMax: 1 })
  }

  /**
   * Sends one request. `what` is the start of the error text, for example `Error writing data to PATH`. If the response
   * has no JSON body, `body` is an empty object. Rejects with a remote error if there is no response, or for an
   * unexpected status code from 400.
   */
  async request(what: string, method: string, path: string, options: RequestOptions = {}) {
    const call = this.#callFor(path, options)
    const url = this.#client.urlOf(path, call.query)
    if (this.settings.preview && !options.isPreliminary) {
      throw new Preview(
        renderPreview(this.settings, { method, path, url, headers: call.headers ?? {}, body: call.raw }),
      )
    }
    const retriesMax = options.isRetried === false ? 0 : this.settings.retriesMax
    const answer = await this.#sendWithRetries(method, path, call, retriesMax).catch((error: unknown) => {
      if (!(error instanceof ApiUnreachable)) throw error
      throw remoteError(`${what}: ${describeUnreachable(method, url, error)}`, error)
    })
    const { status, bytes } = answer
    if (status >= 400 && !options.expected?.includes(status)) {
      const head = [`URL: ${method} ${url}`]
      const namespace = call.headers?.['X-Vault-Namespace']
      if (namespace) head.unshift(`Namespace: ${namespace}`)
      const text = `${what}: ${describeRefusal(head, status, bytes)}`
      throw new CliError(VAULT_EXIT.remote, text, { serverErrors: textsOf(bytes) ?? [] })
    }
    return { status, bytes, body: parseBody(bytes) ?? {}, secret: parseSecret(bytes) }
  }

  /** Reads a path that may not exist. A 404 with data or warnings counts as found. */
  async find(what: string, method: string, path: string, options: RequestOptions = {}): Promise<Secret | undefined> {
    const { status, secret } = await this.request(what, method, path, { ...options, expected: [404] })
    const isFound = status !== 404 || (secret?.warnings.length ?? 0) > 0 || hasEnvelopeData(secret)
    return isFound ? secret : undefined
  }

  close(): void {
    this.#client.close()
  }

  #callFor(path: string, options: RequestOptions): ApiCall {
    const { body, raw, query, token, isPreliminary, isWrapped, isInRoot, bytesMax } = options
    const { settings } = this
    const wrapTtl = settings.wrapTtl || (path === 'sys/wrapping/wrap' ? WRAP_TTL_DEFAULT : '')
    const sentToken = token ?? settings.token
    const headers = {
      ...(raw && { 'Content-Type': 'application/octet-stream' }),
      ...(sentToken && { 'X-Vault-Token': sentToken }),
      ...(settings.namespace && !isInRoot && { 'X-Vault-Namespace': settings.namespace }),
      ...(wrapTtl && !isPreliminary && isWrapped !== false && { 'X-Vault-Wrap-TTL': wrapTtl }),
      ...settings.headers,
    }
    checkHeaders(headers)
    return {
      ...(body !== undefined && { raw: Buffer.from(printJson(body)) }),
      ...(raw && { raw }),
      ...(query && { query }),
      bytesMax,
      headers,
    }
  }

  async #sendWithRetries(method: string, path: string, call: ApiCall, retriesMax: number): Promise<ApiAnswer> {
    const backoff = new Backoff(RETRY, this.#io.random)
    for (let tries = 0; ; tries++) {
      const answer = await this.#client.send(method, path, call)
      if (!shouldRetry(answer.status) || tries >= retriesMax) return answer
      await this.#io.clock.sleep(backoff.next())
    }
  }
}

const shouldRetry = (status: number): boolean => (status >= 500 && status !== 501) || status === 412 || status === 429

/**
 * Returns true if the response has data. An error response without an envelope has none, although `parseSecret` treats
 * the whole body as data.
 */
const hasEnvelopeData = (secret: Secret | undefined): boolean =>
  secret?.data !== undefined && !('errors' in secret.data && secret.requestId === '')

/**
 * Describes an error response in Vault's format, which scripts expect: the request, the status code, then the errors. A
 * response without errors is described by its warnings, and a response without either by its body.
 */
const describeRefusal = (request: readonly string[], status: number, bytes: Buffer): string => {
  const head = ['Error making API request.', '', ...request]
  const texts = textsOf(bytes)
  if (!texts) {
    return [...head, `Code: ${status}. Raw Message:`, '', bytes.toString('utf8')].join('\n')
  }
  return [...head, `Code: ${status}. Errors:`, '', ...texts.map((text) => `* ${text}`)].join('\n')
}

/** Returns the errors of a response, or its warnings if it has no errors. Returns undefined if it has neither. */
const textsOf = (bytes: Buffer): string[] | undefined => {
  const body = parseBody(bytes)
  const texts = body?.errors ?? body?.warnings
  return Array.isArray(texts) ? textsOfJson(texts) : undefined
}

/** Describes a failure to get a response, with the text of Go's HTTP client. */
const describeUnreachable = (method: string, url: string, error: ApiUnreachable): string => {
  const verb = method[0] + method.slice(1).toLowerCase()
  return `${verb} ${JSON.stringify(url)}: ${reasonOf(new URL(url), error.cause)}`
}

const reasonOf = (url: URL, cause: unknown): string => {
  const { code = '', message = '' } = (cause ?? {}) as { code?: string; message?: string }
  const peer = `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`
  if (code === 'ECONNREFUSED') return `dial tcp ${peer}: connect: connection refused`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${url.hostname}: no such host`
  if (code === 'ECONNRESET') return `${peer}: connection reset by peer`
  if (code === 'EPROTO' || /wrong version number|packet length too long/.test(message)) {
    return 'http: server gave HTTP response to HTTPS client'
  }
  if (/certificate|altname/i.test(`${code} ${message}`)) return `tls: failed to verify certificate: x509: ${message}`
  return message || code || 'no response'
}

/** Throws a local error for a header whose name or value HTTP does not allow. */
const checkHeaders = (headers: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw localError(`${JSON.stringify(name)} is not a valid header name`)
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      const what = name === 'X-Vault-Token' ? 'the token' : `the header ${name}`
      throw localError(`${what} contains characters that are not allowed in a header`)
    }
  }
}
