import { type ErrorCode, LogicalError, wrapErrorText } from '../../logical/errors.js'
import type { Rendered } from '../../logical/incoming.js'
import { printJson } from '../../base/json-print.js'

/** Maps error codes to HTTP status codes. No other module knows them. */
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
  'headers-too-large': 431,
  internal: 500,
  'bad-gateway': 502,
  sealed: 503,
  unavailable: 503,
  // Internal: the pipeline forwards the request to the cluster that can write the key.
  'read-only': 503,
}

/**
 * Renders an error in one of three forms: no text, the bare text, or a list with the text. Any error but a LogicalError is a
 * bug, and its details are not sent to the client.
 */
export const renderError = (error: unknown): Rendered => {
  const known = error instanceof LogicalError ? error : new LogicalError('internal', 'internal error')
  const { code, message, wrapped, data, headers = {} } = known
  const errors = message === '' ? [] : [wrapped ? wrapErrorText(message) : message]
  const body = printJson(data === undefined ? { errors } : { errors, data })
  return { status: STATUS_OF[code], contentType: 'application/json', body, headers }
}
