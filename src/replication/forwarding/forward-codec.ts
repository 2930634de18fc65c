import { type ErrorCode, LogicalError } from '../../logical/errors.js'
import { type JsonValue, parseJson } from '../../logical/json.js'
import { printJson } from '../../base/json-print.js'
import type { Response } from '../../logical/request.js'

/** Encodes and decodes the response of a primary to a forwarded request. */

/**
 * The response of a primary. `index` is the last index of the primary's log after the request. The secondary waits
 * until it has applied this index.
 */
export interface ForwardAnswer {
  readonly index: number
  readonly response: Response | undefined
}

export const encodeAnswer = ({ index, response }: ForwardAnswer): Buffer => {
  if (response?.raw && typeof response.raw.body !== 'string' && !Buffer.isBuffer(response.raw.body)) {
    throw new Error('a streamed response cannot be forwarded')
  }
  const raw = response?.raw && {
    contentType: response.raw.contentType,
    base64: Buffer.from(response.raw.body as string | Buffer).toString('base64'),
  }
  return Buffer.from(printJson({ index, response: response ? { ...response, raw } : null }))
}

export const encodeFailure = (index: number, error: LogicalError): Buffer =>
  Buffer.from(printJson({ index, error: failureFields(error) }))

/** Returns the fields of an error that are sent to the other cluster. */
export const failureFields = ({ code, message, wrapped, data, headers }: LogicalError) => ({
  code,
  message,
  wrapped,
  data,
  headers,
})

/** Recreates an error that the other cluster has sent. */
export const failureOf = ({ code, message, wrapped, data, headers }: WireFailure): LogicalError =>
  new LogicalError(code, message, { wrapped, ...(data && { data }), ...(headers && { headers }) })

export interface WireFailure {
  readonly code: ErrorCode
  readonly message: string
  readonly wrapped: boolean
  readonly data?: Record<string, JsonValue>
  readonly headers?: Record<string, string>
}

interface WireAnswer {
  readonly index: number
  readonly response?: (Response & { raw?: { contentType: string; base64: string } }) | null
  readonly error?: WireFailure
}

/** Decodes a response. Throws the error that the primary's backend returned, if any. */
export const decodeAnswer = (payload: Buffer): ForwardAnswer => {
  const { index, response, error } = parseJson(payload.toString('utf8')) as unknown as WireAnswer
  if (error) throw failureOf(error)
  if (!response) return { index, response: undefined }
  const { raw, ...rest } = response
  if (!raw) return { index, response: rest }
  return {
    index,
    response: { ...rest, raw: { contentType: raw.contentType, body: Buffer.from(raw.base64, 'base64') } },
  }
}
