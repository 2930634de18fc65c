import { printJson } from '../../base/json-print.js'
import { LIMITS } from '../../base/limits.js'
import { yieldToEventLoop } from '../../base/turn.js'
import { LogicalError } from '../../logical/errors.js'
import type { IncomingRequest } from '../../logical/incoming.js'
import type { JsonValue } from '../../logical/json.js'
import { type Operation, ROOT_NAMESPACE, WITHHOLDABLE, type Withheld, type WrapRequest } from '../../logical/request.js'
import { fieldsOf, junk, objectOf, requestOf, textOf } from './travelling-fields.js'

/**
 * The result that a standby requests from the active node:
 * - `answer`: the response
 * - `rights`: whether the token permits a request that the standby executes itself
 * - `allowance`: the maximum body size for a client that has sent only the request headers
 */
export type Asked = 'answer' | 'rights' | 'allowance'

/**
 * Encoding of a client request from a standby to the active node of the same cluster. It is sent as received, with its
 * token and client address, because it is not authorized yet.
 */
export interface Relayed {
  readonly request: IncomingRequest
  readonly asks: Asked
  /** Remaining time in milliseconds that the request may wait while the cluster changes its state. */
  readonly waitMs: number
}

export const encodeRelayed = async ({ request, asks, waitMs }: Relayed): Promise<Buffer> => {
  const { id, operation, path, namespaceHeader, data, headers, remoteAddress, remotePort, clientToken, wrap } = request
  const { isHead, bodyBytes = 0, bodyRefusal, withheld } = request
  const where = {
    id,
    operation,
    path,
    namespaceHeader,
    remoteAddress,
    remotePort,
    clientToken,
    wrap,
    isHead,
    bodyBytes,
    withheld: withheld && [...withheld],
    bodyRefusal: bodyRefusal && { code: bodyRefusal.code, message: bodyRefusal.message },
  }
  const text = printJson({ ...where, data, headers, asks, waitMs })
  await yieldToEventLoop(text.length)
  return Buffer.from(text)
}

/** Decodes a request. Throws if a field has a form that no node sends. */
export const decodeRelayed = (payload: Buffer): Relayed => {
  const fields = fieldsOf(payload)
  const request: IncomingRequest = {
    ...requestOf(fields, () => true),
    operation: operationOf(fields.operation),
    namespaceHeader: textIn('namespace', fields.namespaceHeader),
    namespace: ROOT_NAMESPACE,
    clientToken: textIn('token', fields.clientToken),
    wrap: wrapOf(fields.wrap),
    isHead: fields.isHead === true,
    bodyBytes: typeof fields.bodyBytes === 'number' ? fields.bodyBytes : 0,
    bodyRefusal: bodyRefusalOf(fields.bodyRefusal),
    withheld: withheldOf(fields.withheld),
  }
  return { request, asks: askedOf(fields.asks), waitMs: waitOf(fields.waitMs) }
}

const OPERATIONS: Readonly<Record<Operation, true>> = {
  create: true,
  update: true,
  patch: true,
  read: true,
  list: true,
  delete: true,
  help: true,
}

const operationOf = (value: JsonValue | undefined): Operation => {
  if (typeof value !== 'string' || !Object.hasOwn(OPERATIONS, value)) throw junk('operation')
  return value as Operation
}

const askedOf = (value: JsonValue | undefined): Asked => {
  if (value !== 'answer' && value !== 'rights' && value !== 'allowance') throw junk('question')
  return value
}

const waitOf = (value: JsonValue | undefined): number => {
  if (typeof value !== 'number' || !(value >= 0)) throw junk('wait')
  return value
}

const withheldOf = (value: JsonValue | undefined): readonly Withheld[] | undefined => {
  if (value === undefined) return undefined
  const isKnown = (one: unknown): one is Withheld => WITHHOLDABLE.some((known) => known === one)
  if (!Array.isArray(value) || !value.every(isKnown)) throw junk('listener')
  return value
}

/** Returns the error that prevented the standby from reading the body. A request with this error must not be executed. */
const bodyRefusalOf = (value: JsonValue | undefined): LogicalError | undefined => {
  if (value === undefined) return undefined
  const { code, message } = objectOf('refusal', value)
  if (code !== 'body-too-large' && code !== 'unavailable') throw junk('refusal')
  return new LogicalError(code, textOf('refusal', message, LIMITS.headerBytesMax))
}

const textIn = (what: string, value: JsonValue | undefined): string | undefined =>
  value === undefined ? undefined : textOf(what, value, LIMITS.headerBytesMax)

const wrapOf = (value: JsonValue | undefined): WrapRequest | undefined => {
  if (value === undefined) return undefined
  const { ttlSeconds, format } = objectOf('wrap', value)
  if (typeof ttlSeconds !== 'number' || (format !== 'token' && format !== 'jwt')) throw junk('wrap')
  return { ttlSeconds, format }
}
