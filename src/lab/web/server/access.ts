import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Random } from '../../../base/random.js'

const SECRET_BYTES = 32
const OTHER_ORIGIN = 'this request comes from another site or port: only the page itself may send it'

/**
 * Controls access to the page. The first browser that opens a link gets a session, and the link becomes invalid. The
 * session cookie is hidden from scripts. All ports of an address share cookies, so its name contains the port.
 */
export class Access {
  readonly port: number
  readonly #random: Random
  readonly #cookie: string
  readonly #tokens = new Set<string>()
  readonly #sessions = new Set<string>()

  constructor(random: Random, port: number) {
    this.port = port
    this.#random = random
    this.#cookie = `understudy_page_${port}`
  }

  /** Returns the token of a single-use link. */
  newToken(): string {
    const token = this.#newSecret()
    this.#tokens.add(hashOf(token))
    return token
  }

  /** Exchanges the token of a link for a session cookie. Returns undefined for an invalid or used token. */
  redeem(token: string): string | undefined {
    if (!this.#tokens.delete(hashOf(token))) return undefined
    const session = this.#newSecret()
    this.#sessions.add(hashOf(session))
    return `${this.#cookie}=${session}; HttpOnly; SameSite=Strict; Path=/`
  }

  hasSession({ cookie = '' }: IncomingHttpHeaders): boolean {
    const pairs = cookie.split(';').map((pair) => pair.trim().split('='))
    return pairs.some(([name, value = '']) => name === this.#cookie && this.#sessions.has(hashOf(value)))
  }

  #newSecret(): string {
    return this.#random.bytes(SECRET_BYTES).toString('base64url')
  }
}

/**
 * Returns the hash of a secret. Secrets are compared by their hashes, so that the comparison time does not reveal them.
 */
const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/**
 * Returns why a request is not allowed, even with a valid session. Undefined if it is allowed. Finds foreign host names
 * that resolve to this machine (DNS rebinding), and requests from other origins, including other ports of this machine.
 * `isEntry`: the request opens the page itself, to which any site may link.
 */
export const findForeignRequest = (
  headers: IncomingHttpHeaders,
  port: number,
  isEntry: boolean,
): string | undefined => {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`]
  if (!hosts.includes(headers.host ?? '')) return 'this page is available only at 127.0.0.1 and localhost'
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && !hosts.some((host) => origin === `http://${host}`)) return OTHER_ORIGIN
  const isOwn = site === undefined || site === 'same-origin' || site === 'none'
  return isOwn || isEntry ? undefined : OTHER_ORIGIN
}
