import { formatShortDuration, lifeMs } from '../../base/duration.js'
import { invalid } from '../../logical/errors.js'

/** Whole seconds, 0 = not set; times in milliseconds since the epoch. */
export interface TtlFacts {
  readonly nowMs: number
  /** When the token was issued; maxima count from then. */
  readonly issuedMs: number
  /** The life that the client asks for. */
  readonly incrementSeconds: number
  /** The life that the role sets, in place of the mount's default. */
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

/** The smallest of the values that are set; 0 when none is. */
export const smallestSet = (...seconds: readonly number[]): number => {
  const set = seconds.filter((value) => value > 0)
  return set.length === 0 ? 0 : Math.min(...set)
}

const cappedWarning = (what: 'TTL' | 'period', asked: number, cap: number): string =>
  `${what} of "${formatShortDuration(asked)}" exceeded the effective max_ttl of "${formatShortDuration(Math.floor(cap) || cap)}"; ` +
  `${what} value is capped accordingly`

/**
 * How long a token lives from now. A periodic one lives for its period again and again until an explicit maximum ends it;
 * any other ends at the smallest maximum after its issue. Throws 400 when that has passed.
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
