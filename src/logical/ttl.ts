import { formatShortDuration, lifeMs } from '../base/duration.js'
import { invalid } from './errors.js'

/** The lease TTLs of a mount, in seconds. */
export interface LeaseTtls {
  readonly defaultLeaseTtlSeconds: number
  readonly maxLeaseTtlSeconds: number
}

/**
 * The input of `decideTtl`. Durations are in whole seconds, with 0 for not set. Times are in milliseconds since the
 * epoch.
 */
export interface TtlFacts {
  readonly nowMs: number
  /** Time at which the token or lease was issued. Maximum TTLs count from this time. */
  readonly issuedMs: number
  /** The TTL requested by the client. */
  readonly incrementSeconds: number
  /** The TTL set by the role, instead of the mount's default. */
  readonly ttlSeconds: number
  readonly maxTtlSeconds: number
  readonly explicitMaxTtlSeconds: number
  readonly periodSeconds: number
  readonly mount: LeaseTtls
}

export interface TtlDecision {
  /** 0 means no expiry, which only root tokens have. */
  readonly ttlSeconds: number
  readonly warnings: readonly string[]
}

/** Returns the smallest value above 0, or 0 if all values are 0. */
export const smallestSet = (...seconds: readonly number[]): number => {
  const set = seconds.filter((value) => value > 0)
  return set.length === 0 ? 0 : Math.min(...set)
}

const cappedWarning = (what: 'TTL' | 'period', asked: number, cap: number): string =>
  `${what} of "${formatShortDuration(asked)}" exceeded the effective max_ttl of "${formatShortDuration(Math.floor(cap) || cap)}"; ` +
  `${what} value is capped accordingly`

/**
 * Decides the TTL of a new or renewed token or lease, counted from now. Each renewal extends a periodic token by its
 * period, up to its explicit maximum. Any other token or lease can live until the smallest maximum TTL after its issue.
 * Throws LogicalError 400 if this maximum has passed.
 */
export const decideTtl = (facts: TtlFacts): TtlDecision => {
  const { nowMs, issuedMs, mount, periodSeconds, explicitMaxTtlSeconds } = facts
  const cap = smallestSet(mount.maxLeaseTtlSeconds, facts.maxTtlSeconds, explicitMaxTtlSeconds)
  const isPeriodic = periodSeconds > 0
  const asked = isPeriodic ? periodSeconds : facts.incrementSeconds || facts.ttlSeconds || mount.defaultLeaseTtlSeconds
  const hardMax = isPeriodic ? explicitMaxTtlSeconds : cap
  const left = hardMax > 0 ? (issuedMs + lifeMs(hardMax) - nowMs) / 1000 : Number.POSITIVE_INFINITY
  if (left <= 0) throw invalid('past the max TTL, cannot renew')
  const effective = isPeriodic ? Math.min(cap, left) : left
  if (asked <= effective) return { ttlSeconds: asked, warnings: [] }
  return { ttlSeconds: effective, warnings: [cappedWarning(isPeriodic ? 'period' : 'TTL', asked, effective)] }
}
