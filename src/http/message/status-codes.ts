import { type ErrorCode, LogicalError, wrapErrorText } from '../../logical/errors.js'
import type { Rendered } from '../../logical/incoming.js'
import { printJson } from '../../base/json-print.js'

/** Maps error codes to HTTP status codes. No other module contains such a mapping. */
const STATUS_OF: Record<ErrorCode, number> = {
  'invalid-request': 400,
  'permission-denied': 403,
  'not-found': 404,
  'unsupported-path': 404,
  'unsupported-operation': 405,
  'request-timeout': 408,
  'index-not-reached': 412,
  'body-too-large': 413,
  'media-type': 415,
  expectation: 417,
  'too-many-requests': 429,
  'headers-too-large': 431,
  internal: 500,
  'bad-gateway': 502,
  sealed: 503,
  unavailable: 503,
  // Not sent to clients: the pipeline forwards the request to the cluster that can write the key.
  'read-only': 503,
}

/**
 * Renders an error with an empty list of errors, with its plain text, or with its text in the list format of Vault. Any
 * error other than a LogicalError is a bug, and the response does not contain its details.
 */
export const renderError = (error: unknown): Rendered => {
  const known = error instanceof LogicalError ? error : new LogicalError('internal', 'internal error')
  const { code, message, wrapped, data, headers = {} } = known
  const errors = message === '' ? [] : [wrapped ? wrapErrorText(message) : message]
  const body = printJson(data === undefined ? { errors } : { errors, data })
  return { status: STATUS_OF[code], contentType: 'application/json', body, headers }
}
