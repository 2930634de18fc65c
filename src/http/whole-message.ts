import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** A message whose head and body were there together: what is known of it takes no stream. */
export class WholeMessage {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly httpVersion = '1.1'
  readonly socket: Socket
  body: Buffer = NOTHING
  /** The parser has seen its end. */
  complete = false

  constructor(method: string, url: string, headers: Readonly<Record<string, string>>, socket: Socket) {
    this.method = method
    this.url = url
    this.headers = headers
    this.socket = socket
  }
}

/** A message of either way: as Node's server makes it, or whole. */
export type Message = IncomingMessage | WholeMessage

const NOTHING = Buffer.alloc(0)

/** Names as most clients send them: looking one up costs less than changing its letters. */
const KNOWN_NAMES: ReadonlyMap<string, string> = new Map(
  [
    ...['Host', 'User-Agent', 'Accept', 'Accept-Encoding', 'Connection', 'Content-Length', 'Content-Type'],
    ...['X-Vault-Token', 'X-Vault-Namespace', 'X-Vault-Request', 'X-Vault-Index', 'X-Vault-Wrap-TTL', 'Authorization'],
  ].flatMap((name) => [
    [name, name.toLowerCase()],
    [name.toLowerCase(), name.toLowerCase()],
  ]),
)

/** Headers that ask for more than one answer to one message, or of which Node makes lists. */
const UNUSUAL: ReadonlySet<string> = new Set(['transfer-encoding', 'expect', 'upgrade', 'trailer', 'set-cookie'])

/**
 * Headers by their names, from names and values in turns; undefined where one of them is better left to Node: one that
 * comes twice, or that says something about the connection.
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
