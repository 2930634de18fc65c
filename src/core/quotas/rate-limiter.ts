import type { Clock } from '../../base/clock.js'
import { LIMITS } from '../../base/limits.js'
import { RecentCache } from '../../base/recent-cache.js'
import type { RateQuota } from './quota-record.js'

/** The requests of one client. Times are in milliseconds of the monotonic clock. */
interface Client {
  endsAtMs: number
  left: number
  blockedUntilMs: number
}

/** A decision about one request, with the headers that describe it. */
interface RateDecision {
  readonly isAllowed: boolean
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Counts the requests of each client against one quota. The interval of a client begins with its first request. Then
 * `rate` requests are allowed in each interval.
 */
export class RateLimiter {
  readonly #quota: RateQuota
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #limit: number
  readonly #clients = new RecentCache<Client>(LIMITS.quotaClientsMax)

  constructor(quota: RateQuota, clock: Pick<Clock, 'monotonic'>) {
    this.#quota = quota
    this.#clock = clock
    this.#limit = Math.max(1, Math.round(quota.rate))
  }

  take(address: string): RateDecision {
    const nowMs = this.#clock.monotonic()
    const client = this.#clientAt(address, nowMs)
    if (client.blockedUntilMs > nowMs) return denied({}, client.blockedUntilMs - nowMs)
    const isAllowed = client.left > 0
    if (isAllowed) client.left--
    const headers = {
      'X-Ratelimit-Limit': String(this.#limit),
      'X-Ratelimit-Remaining': String(client.left),
      'X-Ratelimit-Reset': secondsOf(client.endsAtMs - nowMs),
    }
    if (isAllowed) return { isAllowed, headers }
    const blockMs = this.#quota.blockSeconds * 1000
    if (blockMs > 0) client.blockedUntilMs = nowMs + blockMs
    return denied(headers, blockMs > 0 ? blockMs : client.endsAtMs - nowMs)
  }

  #clientAt(address: string, nowMs: number): Client {
    const known = this.#clients.get(address)
    const intervalMs = this.#quota.intervalSeconds * 1000
    if (!known) {
      const client = { endsAtMs: nowMs + intervalMs, left: this.#limit, blockedUntilMs: 0 }
      this.#clients.set(address, client)
      return client
    }
    if (known.endsAtMs <= nowMs) {
      known.endsAtMs += intervalMs * (Math.floor((nowMs - known.endsAtMs) / intervalMs) + 1)
      known.left = this.#limit
    }
    return known
  }
}

const denied = (headers: RateDecision['headers'], waitMs: number): RateDecision => ({
  isAllowed: false,
  headers: { ...headers, 'Retry-After': secondsOf(waitMs) },
})

const secondsOf = (ms: number): string => String(Math.floor(ms / 1000))
