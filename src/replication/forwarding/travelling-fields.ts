import { isIP } from 'node:net'
import { isJsonObject } from '../../base/json.js'
import { LIMITS } from '../../base/limits.js'
import { type JsonObject, type JsonValue, parseJsonBytes } from '../../logical/json.js'
import { refusalError } from '../rpc/refusal.js'

/**
 * Parses the fields of a request that another node or cluster forwarded. Throws if a field has a form that this
 * software does not send.
 */

export const invalidField = (what: string) => refusalError('invalid', `a forwarded request has an invalid ${what}`)

/** Maximum nesting of a forwarded request, which contains the client data one level deeper. */
const DEPTH_MAX = LIMITS.jsonDepthMax + 1

const parsed = (payload: Buffer): JsonValue => {
  try {
    return parseJsonBytes(payload, DEPTH_MAX)
  } catch {
    throw invalidField('text')
  }
}

export const objectOf = (what: string, value: JsonValue | undefined): JsonObject => {
  if (!isJsonObject(value)) throw invalidField(what)
  return value
}

/**
 * Returns a text field. Throws if it is not a text or longer than `bytesMax` characters. A character of a header is one
 * byte, because headers are not decoded as UTF-8. `what` is the name of the field for the error.
 */
export const textOf = (what: string, value: JsonValue | undefined, bytesMax: number): string => {
  if (typeof value !== 'string' || value.length > bytesMax) throw invalidField(what)
  return value
}

export const fieldsOf = (payload: Buffer): JsonObject => objectOf('request', parsed(payload))

/** Returns the fields that every forwarded request has. Includes only the headers that `isKept` selects. */
export const requestOf = (fields: JsonObject, isKept: (name: string) => boolean) => ({
  id: textOf('id', fields.id, LIMITS.requestIdBytesMax),
  path: textOf('path', fields.path, LIMITS.headerBytesMax),
  data: dataOf(fields.data),
  headers: headersOf(fields.headers, isKept),
  remoteAddress: addressOf(fields.remoteAddress),
  remotePort: portOf(fields.remotePort),
})

/** Returns the client data as an object without prototype, as in an `IncomingRequest`. */
const dataOf = (value: JsonValue | undefined): JsonObject =>
  Object.assign(Object.create(null) as JsonObject, objectOf('data', value))

/** Returns the names and values of the headers that `isKept` selects. Throws for an invalid header. */
const headersOf = (
  value: JsonValue | undefined,
  isKept: (name: string) => boolean,
): Record<string, string | string[]> => {
  const headers: Record<string, string | string[]> = Object.create(null)
  let bytes = 0
  for (const [name, given] of Object.entries(objectOf('headers', value))) {
    const values = (Array.isArray(given) ? given : [given]).map((text) => textOf('header', text, LIMITS.headerBytesMax))
    bytes += values.reduce((sum, text) => sum + text.length, name.length)
    if (bytes > LIMITS.headerBytesMax) throw invalidField('header')
    if (isKept(name)) headers[name] = Array.isArray(given) ? values : (values[0] ?? '')
  }
  return headers
}

/**
 * Returns an IP address, or an empty text if the sender does not know it. Throws for other texts, because CIDR checks
 * use the address.
 */
const addressOf = (value: JsonValue | undefined): string => {
  const address = textOf('remoteAddress', value, LIMITS.requestIdBytesMax)
  if (address !== '' && isIP(address) === 0) throw invalidField('remoteAddress')
  return address
}

const portOf = (value: JsonValue | undefined): number => {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > 65_535)
    throw invalidField('remotePort')
  return value
}
