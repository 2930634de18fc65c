import { isIP } from 'node:net'
import { isSameSecret } from '../../crypto/constant-time.js'
import { sha256 } from '../../crypto/digest.js'
import { LogicalError } from '../../logical/errors.js'
import type { SideRequest } from '../../logical/incoming.js'
import type { JsonValue } from '../../logical/json.js'

/** Authorizes a change to this server. Without a configured token, every client is allowed except web pages. */
export const requireRight = (request: SideRequest, token: string): void => {
  if (token !== '' && !hasToken(request, token)) {
    throw denied('lab_api_token belongs in the header X-Understudy-Token')
  } else if (token === '' && request.headers.origin !== undefined) {
    throw denied('pages in a browser need a lab_api_token')
  }
}

export const hasToken = ({ headers }: SideRequest, expected: string): boolean =>
  expected !== '' && isSameSecret(sha256(String(headers['x-understudy-token'] ?? '')), sha256(expected))

const denied = (reason: string): LogicalError => new LogicalError('permission-denied', `permission denied: ${reason}`)

/** Names of machines and containers that public DNS servers do not resolve. */
const LOCAL_NAME = /^(?:[^.]+|.+\.(?:localhost|local|internal|svc|test|home\.arpa))\.?$/i

/**
 * Rejects a request with a Host header that does not belong to this server, which prevents DNS rebinding by a web page. Over
 * TLS, a browser accepts no certificate for another name. `own` contains the server's addresses as URLs.
 */
export const requireOwnHost = ({ headers: { host }, isTls }: SideRequest, own: readonly string[]): void => {
  if (host === undefined || isTls) return
  const name = hostnameOf(String(host))
  const isOwn =
    name !== '' &&
    (isIP(name.replace(/^\[|\]$/g, '')) !== 0 || LOCAL_NAME.test(name) || own.some((url) => hostnameOf(url) === name))
  if (!isOwn) throw denied(`the Host ${JSON.stringify(host)} is no name of this server; api_addr may name it`)
}

/** Returns the lower-case host of an address with optional scheme and port; empty if invalid. */
const hostnameOf = (address: string): string =>
  /^(?:https?:\/\/)?(\[[\da-f:.]+\]|[^:/?#@\s]+)(?::\d+)?\/?$/i.exec(address)?.[1]?.toLowerCase() ?? ''

/** Replaces storage keys with empty strings, for callers that are not authorized to see them. */
export const hidePaths = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(hidePaths)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, name === 'path' ? '' : hidePaths(inner as JsonValue)]),
  )
}
