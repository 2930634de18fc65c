import { LogicalError, type ErrorCode } from '../../logical/errors.js'
import type { JsonValue } from '../../logical/json.js'
import { printJson } from '../../base/json-print.js'
import { parseJson } from '../../logical/json-text.js'
import type { Response } from '../../logical/request.js'

/** How the answer of a primary to a forwarded request travels back. */

/** `index`: the end of the primary's log once the request was done, which the secondary waits to see. */
export interface ForwardAnswer {
  readonly index: number
  readonly response: Response | undefined
}

export const encodeAnswer = ({ index, response }: ForwardAnswer): Buffer => {
  if (response?.raw && typeof response.raw.body !== 'string' && !Buffer.isBuffer(response.raw.body)) {
    throw new Error('a streamed answer cannot be forwarded')
  }
  const raw = response?.raw && {
    contentType: response.raw.contentType,
    base64: Buffer.from(response.raw.body as string | Buffer).toString('base64'),
  }
  return Buffer.from(printJson({ index, response: response ? { ...response, raw } : null }))
}

export const encodeFailure = (index: number, error: LogicalError): Buffer =>
  Buffer.from(printJson({ index, error: failureFields(error) }))

/** What of an error travels. */
export const failureFields = ({ code, message, wrapped, data, headers }: LogicalError) => ({
  code,
  message,
  wrapped,
  data,
  headers,
})

/** The error that was thrown elsewhere. */
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

/** Throws the error that the primary's backend threw. */
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
