/**
 * The only error type for expected failures. The code says what happened; `http` maps it to an HTTP status. A bare `Error`
 * always means a bug.
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
  | 'headers-too-large' // 431
  | 'request-timeout' // 408
  | 'sealed' // 503
  | 'unavailable' // 503
  | 'internal' // 500
  /** Another server was called, and it is unknown whether it has executed the request. */
  | 'bad-gateway' // 502
  /** A replicated key was written on a cluster that may not write it: the request is forwarded to the primary. */
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
  /** Sent as `data` beside `errors`. */
  data?: Record<string, unknown>
  /** Headers of the response, such as warnings gathered before the handler failed. */
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
}

/** Returns a 400 with a bare text: a backend's response to an invalid request. */
export const invalid = (message: string): LogicalError => new LogicalError('invalid-request', message)

/** Returns a 400 whose text is in list form, as Vault returns it for some errors. */
export const invalidInList = (message: string): LogicalError =>
  new LogicalError('invalid-request', message, { wrapped: true })

/** Returns a 413: the request body exceeds its limit. */
export const bodyTooLarge = (): LogicalError => new LogicalError('body-too-large', 'http: request body too large')

/** Returns the 503 of a sealed cluster. */
export const sealed = (): LogicalError => new LogicalError('sealed', SEALED_REFUSAL)

/** Returns a 404 with an empty list of errors. */
export const notFound = (): LogicalError => new LogicalError('not-found', '')

/** Returns the 404 `unsupported path`: the mount has no such endpoint. */
export const unsupportedPath = (): LogicalError =>
  new LogicalError('unsupported-path', 'unsupported path', { wrapped: true })

/** Returns a 405: the endpoint exists but does not support the verb. */
export const unsupportedOperation = (): LogicalError =>
  new LogicalError('unsupported-operation', 'unsupported operation', { wrapped: true })

/** Returns a 403 in the form of a policy denial. */
export const permissionDenied = (): LogicalError =>
  new LogicalError('permission-denied', 'permission denied', { wrapped: true })

/** Formats one error the way Vault formats a list of errors. */
export const wrapErrorText = (message: string): string => `1 error occurred:\n\t* ${message}\n\n`

/** Why a cluster rejects requests in one of its states. Clients match on these texts. */
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
