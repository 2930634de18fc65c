import { printJson } from '../../base/json-print.js'
import { LIMITS } from '../../base/limits.js'
import { yieldToEventLoop } from '../../base/turn.js'
import { LogicalError } from '../../logical/errors.js'
import type { IncomingRequest } from '../../logical/incoming.js'
import type { JsonValue } from '../../logical/json.js'
import { type Operation, ROOT_NAMESPACE, WITHHOLDABLE, type Withheld, type WrapRequest } from '../../logical/request.js'
import { fieldsOf, invalidField, objectOf, requestOf, textOf } from './travelling-fields.js'

/**
 * What a standby requests from the active node:
 * - `answer`: the response to the request
 * - `rights`: a check whether the token permits a request that the standby then executes itself
 * - `allowance`: the maximum body size for a client that has sent only the request headers
 */
export type Asked = 'answer' | 'rights' | 'allowance'

/**
 * A client request that a standby sends to the active node of its cluster. The request contains the token and the
 * client address as received, because the standby has not authorized it.
 */
export interface Relayed {
  readonly request: IncomingRequest
  readonly asks: Asked
  /** Maximum remaining time in milliseconds that the request may wait while the cluster changes its state. */
  readonly waitMs: number
}

export const encodeRelayed = async ({ request, asks, waitMs }: Relayed): Promise<Buffer> => {
  const { id, operation, path, namespaceHeader, data, headers, remoteAddress, remotePort, clientToken, wrap } = request
  const { isHead, bodyBytes = 0, bodyRefusal, withheld, peerCertificates } = request
  const fields = {
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
    peerCertificates: peerCertificates?.map((der) => der.toString('base64')),
    bodyRefusal: bodyRefusal && { code: bodyRefusal.code, message: bodyRefusal.message },
  }
  const text = printJson({ ...fields, data, headers, asks, waitMs })
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
    peerCertificates: certificatesOf(fields.peerCertificates),
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
  if (typeof value !== 'string' || !Object.hasOwn(OPERATIONS, value)) throw invalidField('operation')
  return value as Operation
}

const askedOf = (value: JsonValue | undefined): Asked => {
  if (value !== 'answer' && value !== 'rights' && value !== 'allowance') throw invalidField('question')
  return value
}

const waitOf = (value: JsonValue | undefined): number => {
  if (typeof value !== 'number' || !(value >= 0)) throw invalidField('wait')
  return value
}

const withheldOf = (value: JsonValue | undefined): readonly Withheld[] | undefined => {
  if (value === undefined) return undefined
  const isKnown = (one: unknown): one is Withheld => WITHHOLDABLE.some((known) => known === one)
  if (!Array.isArray(value) || !value.every(isKnown)) throw invalidField('listener')
  return value
}

const certificatesOf = (value: JsonValue | undefined): readonly Buffer[] | undefined => {
  if (value === undefined) return undefined
  if (!Array.isArray(value)) throw invalidField('certificates')
  const max = LIMITS.clientCertificateCharactersMax
  return value.map((one) => Buffer.from(textOf('certificate', one, max), 'base64'))
}

/** Returns the error with which the standby failed to read the body. A request with this error must not be executed. */
const bodyRefusalOf = (value: JsonValue | undefined): LogicalError | undefined => {
  if (value === undefined) return undefined
  const { code, message } = objectOf('refusal', value)
  if (code !== 'body-too-large' && code !== 'unavailable') throw invalidField('refusal')
  return new LogicalError(code, textOf('refusal', message, LIMITS.headerBytesMax))
}

const textIn = (what: string, value: JsonValue | undefined): string | undefined =>
  value === undefined ? undefined : textOf(what, value, LIMITS.headerBytesMax)

const wrapOf = (value: JsonValue | undefined): WrapRequest | undefined => {
  if (value === undefined) return undefined
  const { ttlSeconds, format } = objectOf('wrap', value)
  if (typeof ttlSeconds !== 'number' || (format !== 'token' && format !== 'jwt')) throw invalidField('wrap')
  return { ttlSeconds, format }
}
