import { formatShortDuration, lifeMs } from '../../base/duration.js'
import { invalid } from '../../logical/errors.js'

/** Durations in whole seconds, 0 = not set; times in milliseconds since the epoch. */
export interface TtlFacts {
  readonly nowMs: number
  /** When the token was issued. Maximum TTLs count from then. */
  readonly issuedMs: number
  /** The TTL requested by the client. */
  readonly incrementSeconds: number
  /** The TTL set by the role, instead of the mount's default. */
  readonly ttlSeconds: number
  readonly maxTtlSeconds: number
  readonly explicitMaxTtlSeconds: number
  readonly periodSeconds: number
  readonly mount: { readonly defaultLeaseTtlSeconds: number; readonly maxLeaseTtlSeconds: number }
}

export interface TtlDecision {
  readonly ttlSeconds: number
  readonly warnings: readonly string[]
}

/** Returns the smallest value that is set; 0 if none is. */
export const smallestSet = (...seconds: readonly number[]): number => {
  const set = seconds.filter((value) => value > 0)
  return set.length === 0 ? 0 : Math.min(...set)
}

const cappedWarning = (what: 'TTL' | 'period', asked: number, cap: number): string =>
  `${what} of "${formatShortDuration(asked)}" exceeded the effective max_ttl of "${formatShortDuration(Math.floor(cap) || cap)}"; ` +
  `${what} value is capped accordingly`

/**
 * Decides the TTL from now on. A periodic token is extended by its period each time, up to its explicit maximum. Any other
 * token expires at the smallest maximum after its issue. Throws 400 if that has passed.
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
