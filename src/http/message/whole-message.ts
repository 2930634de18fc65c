import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** A message whose head and body arrived together, so it needs no stream. */
export class WholeMessage {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly httpVersion = '1.1'
  readonly socket: Socket
  body: Buffer = NOTHING
  /** True when the parser has seen its end. */
  complete = false

  constructor(method: string, url: string, headers: Readonly<Record<string, string>>, socket: Socket) {
    this.method = method
    this.url = url
    this.headers = headers
    this.socket = socket
  }
}

/** A message from Node's server or from the fast lane. */
export type Message = IncomingMessage | WholeMessage

const NOTHING = Buffer.alloc(0)

/** Header names as most clients spell them: a lookup is faster than a conversion to lower case. */
const KNOWN_NAMES: ReadonlyMap<string, string> = new Map(
  [
    ...['Host', 'User-Agent', 'Accept', 'Accept-Encoding', 'Connection', 'Content-Length', 'Content-Type'],
    ...['X-Vault-Token', 'X-Vault-Namespace', 'X-Vault-Request', 'X-Vault-Index', 'X-Vault-Wrap-TTL', 'Authorization'],
  ].flatMap((name) => [
    [name, name.toLowerCase()],
    [name.toLowerCase(), name.toLowerCase()],
  ]),
)

/**
 * Headers that Node's server handles: they change how a message is read, require an interim response, or have a list of
 * values.
 */
const UNUSUAL: ReadonlySet<string> = new Set(['transfer-encoding', 'expect', 'upgrade', 'trailer', 'set-cookie'])

/**
 * Returns headers by name, from alternating names and values. Returns undefined if Node's server must handle the
 * message, because a header is repeated or concerns the connection.
 */
export const readPlainHeaders = (pairs: readonly string[]): Readonly<Record<string, string>> | undefined => {
  const headers: Record<string, string> = {}
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const sent = pairs[at] ?? ''
    const value = pairs[at + 1] ?? ''
    const name = KNOWN_NAMES.get(sent) ?? sent.toLowerCase()
    if (headers[name] !== undefined || UNUSUAL.has(name)) return undefined
    if (name === 'connection' && value.toLowerCase() !== 'keep-alive') return undefined
    headers[name] = value
  }
  return headers
}
