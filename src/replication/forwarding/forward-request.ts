import { LIMITS } from '../../base/limits.js'
import { yieldToEventLoop } from '../../base/turn.js'
import type { JsonValue } from '../../logical/json.js'
import { printJson } from '../../base/json-print.js'
import { isWrite, type NamespaceRef, type Operation, type Request } from '../../logical/request.js'
import { fieldsOf, invalidField, objectOf, requestOf, textOf } from './travelling-fields.js'

/** Headers that are not forwarded. */
const SECRET_HEADERS: ReadonlySet<string> = new Set(['x-vault-token', 'authorization', 'cookie'])

/**
 * Encodes a request that a performance secondary forwards to its primary. The secondary has already authorized the
 * request, so it sends neither the token nor properties of the token. If the client requested response wrapping, the
 * secondary wraps the response itself.
 */
export const encodeRequest = async (request: Request): Promise<Buffer> => {
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !SECRET_HEADERS.has(name)))
  const { id, operation, path, namespace, data, remoteAddress, remotePort } = request
  const text = printJson({ id, operation, path, namespace, data, headers, remoteAddress, remotePort })
  await yieldToEventLoop(text.length)
  return Buffer.from(text)
}

/** Decodes a request. Throws if a field has a form that no secondary sends. */
export const decodeRequest = (payload: Buffer): Request => {
  const fields = fieldsOf(payload)
  const request = requestOf(fields, (name) => !SECRET_HEADERS.has(name))
  if (request.path === '') throw invalidField('path')
  return {
    ...request,
    operation: operationOf(fields.operation),
    namespace: namespaceOf(fields.namespace),
    clientToken: undefined,
    wrap: undefined,
  }
}

const operationOf = (value: JsonValue | undefined): Operation => {
  if (value !== 'read' && !isWrite(value)) throw invalidField('operation')
  return value
}

const namespaceOf = (value: JsonValue | undefined): NamespaceRef => {
  const { id, path } = objectOf('namespace', value)
  return {
    id: textOf('namespace', id, LIMITS.headerBytesMax),
    path: textOf('namespace', path, LIMITS.headerBytesMax),
  }
}
