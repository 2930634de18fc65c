import { isIP } from 'node:net'
import { isSameSecret } from '../../crypto/constant-time.js'
import { sha256 } from '../../crypto/digest.js'
import { LogicalError } from '../../logical/errors.js'
import type { SideRequest } from '../../logical/incoming.js'
import type { JsonValue } from '../../logical/json.js'

/** Without a token whoever reaches the server may change it, but no page that a browser happens to show. */
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

/** Names of machines and containers that no public DNS server answers for. */
const LOCAL_NAME = /^(?:[^.]+|.+\.(?:localhost|local|internal|svc|test|home\.arpa))\.?$/i

/**
 * Refuses a request under a name that is none of this server: a page in a browser may make its own name lead here (DNS
 * rebinding). Over TLS no other name has a certificate that a browser takes. `own`: addresses of the server, as URLs.
 */
export const requireOwnHost = ({ headers: { host }, isTls }: SideRequest, own: readonly string[]): void => {
  if (host === undefined || isTls) return
  const name = hostnameOf(String(host))
  const isOwn =
    name !== '' &&
    (isIP(name.replace(/^\[|\]$/g, '')) !== 0 || LOCAL_NAME.test(name) || own.some((url) => hostnameOf(url) === name))
  if (!isOwn) throw denied(`the Host ${JSON.stringify(host)} is no name of this server; api_addr may name it`)
}

/** Of an address with or without a scheme and a port, in small letters; empty for what is none. */
const hostnameOf = (address: string): string =>
  /^(?:https?:\/\/)?(\[[\da-f:.]+\]|[^:/?#@\s]+)(?::\d+)?\/?$/i.exec(address)?.[1]?.toLowerCase() ?? ''

/** The answer with nothing in the place of each key of the store, for callers that have shown no right to know them. */
export const hidePaths = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(hidePaths)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, name === 'path' ? '' : hidePaths(inner as JsonValue)]),
  )
}
