import { counted } from '../base/counted.js'
import { messageOf } from '../base/printable.js'

/**
 * The code of an expected failure, which `http` maps to an HTTP status code. All expected failures are LogicalErrors.
 * Any other error is a bug.
 */
export type ErrorCode =
  | 'invalid-request' // 400
  | 'permission-denied' // 403
  | 'not-found' // 404; an empty message gives an empty list of errors
  | 'unsupported-path' // 404
  | 'unsupported-operation' // 405
  | 'index-not-reached' // 412
  | 'body-too-large' // 413
  | 'media-type' // 415
  | 'expectation' // 417
  | 'too-many-requests' // 429
  | 'headers-too-large' // 431
  | 'request-timeout' // 408
  | 'sealed' // 503
  | 'unavailable' // 503
  | 'internal' // 500
  /** A call to another server failed, and it is unknown whether that server has executed the request. */
  | 'bad-gateway' // 502
  /** This cluster may not write a replicated key. The pipeline forwards the request to the primary. */
  | 'read-only'

interface LogicalErrorOptions {
  cause?: unknown
  /**
   * On authenticated paths the text is wrapped in Vault's list form (`1 error occurred:
   * \t* ...
   *
   * `). If absent, the text stays bare.
   */
  wrapped?: boolean
  /** The member `data` of the response, in addition to `errors`. */
  data?: Record<string, unknown>
  /** Headers of the response, such as warnings from before the failure. */
  headers?: Record<string, string>
}

export class LogicalError extends Error {
  override readonly name = 'LogicalError'
  readonly code: ErrorCode
  readonly wrapped: boolean
  readonly data: Record<string, unknown> | undefined
  readonly headers: Record<string, string> | undefined

  constructor(code: ErrorCode, message: string, options: LogicalErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.wrapped = options.wrapped ?? false
    this.data = options.data
    this.headers = options.headers
  }

  /** Returns a copy of this error with other options. */
  with(options: Pick<LogicalErrorOptions, 'wrapped' | 'headers'>): LogicalError {
    const { code, message, cause, wrapped, data, headers } = this
    const own = { cause, wrapped, ...(data && { data }), ...(headers && { headers }) }
    return new LogicalError(code, message, { ...own, ...options })
  }
}

/** Returns true for an error of a write to a replicated key that this cluster may not write. */
export const isReadOnly = (error: unknown): error is LogicalError =>
  error instanceof LogicalError && error.code === 'read-only'

/**
 * Returns the error for a write that this cluster cannot make. After this error, the pipeline forwards the request to
 * the performance primary.
 */
export const readOnly = (): LogicalError => new LogicalError('read-only', 'cannot write to readonly storage')

/** Returns LogicalError 400 for an invalid request, with a plain text. */
export const invalid = (message: string): LogicalError => new LogicalError('invalid-request', message)

/** Returns the result of `work`. Throws LogicalError 400 with `beginning` and the message of any error of `work`. */
export const explaining = <T>(beginning: string, work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw invalid(`${beginning}: ${messageOf(error)}`)
  }
}

/** Returns LogicalError 400 with a text in the list format of Vault. */
export const invalidInList = (message: string): LogicalError =>
  new LogicalError('invalid-request', message, { wrapped: true })

/** Returns LogicalError 413: the request body exceeds its limit. */
export const bodyTooLarge = (): LogicalError => new LogicalError('body-too-large', 'http: request body too large')

/** Returns LogicalError 503: the cluster is sealed. */
export const sealed = (): LogicalError => new LogicalError('sealed', SEALED_REFUSAL)

/** Returns LogicalError 404 with an empty list of errors. */
export const notFound = (): LogicalError => new LogicalError('not-found', '')

/** Returns LogicalError 404: the mount does not have this endpoint. */
export const unsupportedPath = (): LogicalError =>
  new LogicalError('unsupported-path', 'unsupported path', { wrapped: true })

/** Returns LogicalError 405: the endpoint exists but does not support the verb. */
export const unsupportedOperation = (): LogicalError =>
  new LogicalError('unsupported-operation', 'unsupported operation', { wrapped: true })

/** Returns LogicalError 403, as if a policy denied the request. */
export const permissionDenied = (): LogicalError =>
  new LogicalError('permission-denied', 'permission denied', { wrapped: true })

/** Formats errors like a list of errors in Vault. */
export const wrapErrorText = (...messages: readonly string[]): string =>
  `${counted(messages.length, 'error')} occurred:\n${messages.map((message) => `\t* ${message}\n`).join('')}\n`

/** The texts with which a cluster rejects requests in some of its states. Clients depend on these texts. */
export const SEALED_REFUSAL = 'Vault is sealed'
export const DR_REFUSAL = 'path disabled in replication DR secondary mode'
export const RESTARTING_REFUSAL = 'cluster is restarting after a replication change, try again'
export const STRANDED_REFUSAL =
  'the first copy of this performance secondary is not complete, and it has no primary: use sys/generate-root with the key ' +
  'shares of the primary, then performance/secondary/update-primary with a new token, or performance/secondary/disable'
export const REMOVED_REFUSAL =
  'this node was removed from its cluster; to join a cluster again, it needs an empty storage path'
export const AWAITING_NODES_REFUSAL =
  'too few nodes of the cluster are running: this node cannot be unsealed yet, try again when other nodes run'
export const CLOSED_REFUSAL = 'the cluster was closed before the request was executed, try again'
export const STOPPING_REFUSAL = 'the server is stopping'

/** Returns the error for a path that requires no token: its text is not in the list format of Vault. */
export const unwrapped = (error: unknown): unknown =>
  error instanceof LogicalError && error.wrapped ? error.with({ wrapped: false }) : error
