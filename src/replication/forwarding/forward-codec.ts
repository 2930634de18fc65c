import { LogicalError, type ErrorCode } from '../../logical/errors.js'
import type { JsonObject, JsonValue } from '../../logical/json.js'
import { parseJson, printJson } from '../../logical/json-text.js'
import type { Request, Response } from '../../logical/request.js'

/**
 * How a request and its answer travel between a performance secondary and its primary. The request was authorised where
 * it came in: its token's id and secret headers stay there.
 */
const SECRET_HEADERS: ReadonlySet<string> = new Set(['x-vault-token', 'authorization', 'cookie'])

export const encodeRequest = (request: Request): Buffer => {
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !SECRET_HEADERS.has(name)))
  const { id, operation, path, namespace, data, remoteAddress, remotePort, wrap, token } = request
  const view = token && { ...token, id: '' }
  return Buffer.from(
    printJson({ id, operation, path, namespace, data, headers, remoteAddress, remotePort, wrap, token: view }),
  )
}

export const decodeRequest = (payload: Buffer): Request => {
  const fields = parseJson(payload.toString('utf8')) as unknown as Request
  return {
    ...fields,
    data: Object.assign(Object.create(null) as JsonObject, fields.data),
    clientToken: undefined,
    wrap: fields.wrap ?? undefined,
    isForwarded: true,
  }
}

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

export const encodeFailure = (index: number, error: LogicalError): Buffer => {
  const { code, message, wrapped, data, headers } = error
  return Buffer.from(printJson({ index, error: { code, message, wrapped, data, headers } }))
}

interface WireAnswer {
  readonly index: number
  readonly response?: (Response & { raw?: { contentType: string; base64: string } }) | null
  readonly error?: {
    readonly code: ErrorCode
    readonly message: string
    readonly wrapped: boolean
    readonly data?: Record<string, JsonValue>
    readonly headers?: Record<string, string>
  }
}

/** Throws the error that the primary's backend threw. */
export const decodeAnswer = (payload: Buffer): ForwardAnswer => {
  const { index, response, error } = parseJson(payload.toString('utf8')) as unknown as WireAnswer
  if (error) {
    throw new LogicalError(error.code, error.message, {
      wrapped: error.wrapped,
      ...(error.data && { data: error.data }),
      ...(error.headers && { headers: error.headers }),
    })
  }
  if (!response) return { index, response: undefined }
  const { raw, ...rest } = response
  if (!raw) return { index, response: rest }
  return {
    index,
    response: { ...rest, raw: { contentType: raw.contentType, body: Buffer.from(raw.base64, 'base64') } },
  }
}
