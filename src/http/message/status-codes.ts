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
  if (!(error instanceof LogicalError)) return renderErrors(500, ['internal error'])
  const text = error.wrapped && error.message !== '' ? wrapErrorText(error.message) : error.message
  return renderErrors(STATUS_OF[error.code], text === '' ? [] : [text], error.data, error.headers)
}

const renderErrors = (
  status: number,
  errors: readonly string[],
  data?: Record<string, unknown>,
  headers: Record<string, string> = {},
): Rendered => ({
  status,
  contentType: 'application/json',
  body: printJson(data === undefined ? { errors } : { errors, data }),
  headers,
})
