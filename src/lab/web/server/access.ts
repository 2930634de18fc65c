import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Random } from '../../../base/random.js'

const SECRET_BYTES = 32

/**
 * Who may look at the page: whoever opens the link first has a session from then on, and the link is worth nothing any more.
 * Sessions live in a cookie that scripts cannot read and in the memory of this process. Cookies are shared by all ports of an
 * address, so each port has a name of its own.
 */
export class Access {
  readonly #random: Random
  readonly #cookie: string
  readonly #tokens = new Set<string>()
  readonly #sessions = new Set<string>()

  constructor(random: Random, port: number) {
    this.#random = random
    this.#cookie = `understudy_page_${port}`
  }

  /** A token for one link. */
  newToken(): string {
    const token = this.#newSecret()
    this.#tokens.add(hashOf(token))
    return token
  }

  /** The value of `Set-Cookie` for a token that was not used yet; undefined for any other. */
  redeem(token: string): string | undefined {
    if (!takeFrom(this.#tokens, token)) return undefined
    const session = this.#newSecret()
    this.#sessions.add(hashOf(session))
    return `${this.#cookie}=${session}; HttpOnly; SameSite=Strict; Path=/`
  }

  hasSession({ cookie = '' }: IncomingHttpHeaders): boolean {
    const pairs = cookie.split(';').map((pair) => pair.trim().split('='))
    return pairs.some(([name, value = '']) => name === this.#cookie && findIn(this.#sessions, value) !== undefined)
  }

  #newSecret(): string {
    return this.#random.bytes(SECRET_BYTES).toString('base64url')
  }
}

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

const findIn = (hashes: ReadonlySet<string>, secret: string): string | undefined => {
  const own = Buffer.from(hashOf(secret))
  return [...hashes].find((hash) => timingSafeEqual(Buffer.from(hash), own))
}

const takeFrom = (hashes: Set<string>, secret: string): boolean => {
  const found = findIn(hashes, secret)
  return found !== undefined && hashes.delete(found)
}

/**
 * Why a request is refused, whoever sends it; undefined when it is not. A name that somebody made point to this machine is
 * none of ours, and nothing but the page itself may ask for what it shows, also not a page at another port of this machine.
 * `isEntry`: a link from anywhere may lead to the page itself.
 */
export const findStranger = (headers: IncomingHttpHeaders, port: number, isEntry: boolean): string | undefined => {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`]
  if (!hosts.includes(headers.host ?? '')) return 'this page is at 127.0.0.1 and localhost only'
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && !hosts.some((host) => origin === `http://${host}`))
    return 'only the page itself may ask for this'
  const isOwn = site === undefined || site === 'same-origin' || site === 'none'
  return isOwn || isEntry ? undefined : 'only the page itself may ask for this'
}
