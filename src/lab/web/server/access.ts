import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Random } from '../../../base/random.js'

const SECRET_BYTES = 32

/**
 * Access to the page: the first browser that opens a link gets a session, which invalidates the link. Sessions are in a
 * cookie that scripts cannot read, and in the memory of this process. All ports of an address share cookies, so the cookie
 * name contains the port.
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

  /** Returns the `Set-Cookie` value for an unused token. Undefined for any other. */
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

/** Returns the hash of a secret. Secrets are compared by their hashes, so that the comparison time does not reveal them. */
const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/**
 * Returns why a request is rejected even with a valid session; undefined if it is allowed. Rejects foreign host names that
 * resolve to this machine (DNS rebinding), and requests from other origins, including other ports of this machine. `isEntry`:
 * the request opens the page itself, for which links on any site are allowed.
 */
export const findStranger = (headers: IncomingHttpHeaders, port: number, isEntry: boolean): string | undefined => {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`]
  if (!hosts.includes(headers.host ?? '')) return 'this page is available only at 127.0.0.1 and localhost'
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && !hosts.some((host) => origin === `http://${host}`))
    return 'only the page itself may send this request'
  const isOwn = site === undefined || site === 'same-origin' || site === 'none'
  return isOwn || isEntry ? undefined : 'only the page itself may send this request'
}
