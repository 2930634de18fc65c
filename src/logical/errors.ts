import { SEALED_REFUSAL } from './refusal-texts.js'

/**
 * The one error of the product. The code says what happened; which HTTP status that is stands in one table in `http`.
 * A bare `Error` anywhere means a bug.
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
  /** Another server was asked, and whether it has done it nobody knows. */
  | 'bad-gateway' // 502
  /** A replicated key was written on a cluster that may not: the request is forwarded to the primary. */
  | 'read-only'

interface LogicalErrorOptions {
  cause?: unknown
  /**
   * The text is wrapped in the reference's list form (`1 error occurred:\n\t* ...\n\n`) where the path is
   * authenticated. Without it the text stands bare.
   */
  wrapped?: boolean
  /** Sent as `data` beside `errors`. */
  data?: Record<string, unknown>
  /** Handlers may have gathered warnings before they failed. */
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

/** 400 with a bare text: what a backend answers to a mistake of the caller. */
export const invalid = (message: string): LogicalError => new LogicalError('invalid-request', message)

/** 413: more than a request may carry. */
export const bodyTooLarge = (): LogicalError => new LogicalError('body-too-large', 'http: request body too large')

/** 503 while the cluster is sealed. */
export const sealed = (): LogicalError => new LogicalError('sealed', SEALED_REFUSAL)

/** 404 with an empty list of errors: nothing there. */
export const notFound = (): LogicalError => new LogicalError('not-found', '')

/** 404 `unsupported path`: the mount has no such endpoint. */
export const unsupportedPath = (): LogicalError =>
  new LogicalError('unsupported-path', 'unsupported path', { wrapped: true })

/** 405: the endpoint exists, the verb does not. */
export const unsupportedOperation = (): LogicalError =>
  new LogicalError('unsupported-operation', 'unsupported operation', { wrapped: true })

/** 403 in the form of a policy's refusal. */
export const permissionDenied = (): LogicalError =>
  new LogicalError('permission-denied', 'permission denied', { wrapped: true })

/** The reference's text of one error in a list. */
export const wrapErrorText = (message: string): string => `1 error occurred:\n\t* ${message}\n\n`
