import { isIP } from 'node:net'
import { LIMITS } from '../../base/limits.js'
import { turnFor } from '../../base/turn.js'
import type { JsonObject, JsonValue } from '../../logical/json.js'
import { RawNumber } from '../../base/json.js'
import { printJson } from '../../base/json-print.js'
import { parseJsonBytes } from '../../logical/json-text.js'
import { isWrite, type NamespaceRef, type Operation, type Request } from '../../logical/request.js'
import { refusalError } from '../rpc/refusal.js'

/**
 * How a request travels from a performance secondary to its primary. It was authorised where it came in: neither the token
 * nor anything that is known of it goes along, and an answer is wrapped where it was asked for.
 */
const SECRET_HEADERS: ReadonlySet<string> = new Set(['x-vault-token', 'authorization', 'cookie'])

export const encodeRequest = async (request: Request): Promise<Buffer> => {
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !SECRET_HEADERS.has(name)))
  const { id, operation, path, namespace, data, remoteAddress, remotePort } = request
  const text = printJson({ id, operation, path, namespace, data, headers, remoteAddress, remotePort })
  await turnFor(text.length)
  return Buffer.from(text)
}

/** Refuses what no secondary of ours would send, before anything is done with it. */
export const decodeRequest = (payload: Buffer): Request => {
  const fields = objectOf('request', parsed(payload))
  const path = textOf('path', fields.path, LIMITS.headerBytesMax)
  if (path === '') throw junk('path')
  return {
    id: textOf('id', fields.id, LIMITS.requestIdBytesMax),
    operation: operationOf(fields.operation),
    path,
    namespace: namespaceOf(fields.namespace),
    data: Object.assign(Object.create(null) as JsonObject, objectOf('data', fields.data)),
    headers: headersOf(fields.headers),
    remoteAddress: addressOf(fields.remoteAddress),
    remotePort: portOf(fields.remotePort),
    clientToken: undefined,
    wrap: undefined,
  }
}

const junk = (what: string) => refusalError('invalid', `a forwarded request with an unusable ${what}`)

const parsed = (payload: Buffer): JsonValue => {
  try {
    return parseJsonBytes(payload)
  } catch {
    throw junk('text')
  }
}

const objectOf = (what: string, value: JsonValue | undefined): JsonObject => {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawNumber)
  if (!isObject) throw junk(what)
  return value as JsonObject
}

const textOf = (what: string, value: JsonValue | undefined, bytesMax: number): string => {
  if (typeof value !== 'string' || Buffer.byteLength(value) > bytesMax) throw junk(what)
  return value
}

const operationOf = (value: JsonValue | undefined): Operation => {
  if (!isWrite(value)) throw junk('operation')
  return value
}

const namespaceOf = (value: JsonValue | undefined): NamespaceRef => {
  const { id, path } = objectOf('namespace', value)
  return {
    id: textOf('namespace', id, LIMITS.headerBytesMax),
    path: textOf('namespace', path, LIMITS.headerBytesMax),
  }
}

const headersOf = (value: JsonValue | undefined): Record<string, string | string[]> => {
  const headers: Record<string, string | string[]> = Object.create(null)
  let bytes = 0
  for (const [name, given] of Object.entries(objectOf('headers', value))) {
    const values = (Array.isArray(given) ? given : [given]).map((text) => textOf('header', text, LIMITS.headerBytesMax))
    bytes += Buffer.byteLength(name) + values.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    if (bytes > LIMITS.headerBytesMax) throw junk('header')
    if (!SECRET_HEADERS.has(name)) headers[name] = Array.isArray(given) ? values : (values[0] ?? '')
  }
  return headers
}

/** Judged by the rules about addresses, so it has to be one; empty where the secondary did not know it. */
const addressOf = (value: JsonValue | undefined): string => {
  const address = textOf('remoteAddress', value, LIMITS.requestIdBytesMax)
  if (address !== '' && isIP(address) === 0) throw junk('remoteAddress')
  return address
}

const portOf = (value: JsonValue | undefined): number => {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > 65_535) throw junk('remotePort')
  return value
}
