import { lifeMs } from '../../base/duration.js'
import { invalid } from '../../logical/errors.js'
import type { RenewalTimes } from '../../logical/request.js'
import { decideTtl, type LeaseTtls, smallestSet, type TtlDecision } from '../../logical/ttl.js'
import type { StoredToken, TokenEntry } from './token-record.js'

/** Throws LogicalError 400 for a token that is not renewable. */
export const checkRenewable = (entry: TokenEntry): void => {
  if (entry.type === 'batch') throw invalid('batch tokens cannot be renewed')
  if (entry.expiresAtMs === undefined) throw invalid('invalid lease ID')
  if (!entry.isRenewable) throw invalid('lease is not renewable')
}

/**
 * Decides the TTL of a renewal. The token of a login uses the current settings of its role (`current`). A token created
 * through auth/token keeps its last TTL. An explicit maximum stays as issued, but the current maximum of a token role
 * applies as well.
 */
export const decideRenewal = (facts: {
  readonly entry: TokenEntry
  readonly current: RenewalTimes | undefined
  readonly incrementSeconds: number
  readonly mount: LeaseTtls
  readonly nowMs: number
}): TtlDecision => {
  const { entry, current, incrementSeconds, mount, nowMs } = facts
  const isLogin = current !== undefined && entry.role === ''
  return decideTtl({
    nowMs,
    issuedMs: entry.createdAtMs,
    incrementSeconds,
    ttlSeconds: isLogin ? (current.ttlSeconds ?? 0) : entry.leaseTtlSeconds,
    maxTtlSeconds: current?.maxTtlSeconds ?? 0,
    explicitMaxTtlSeconds: isLogin
      ? entry.explicitMaxTtlSeconds
      : smallestSet(entry.explicitMaxTtlSeconds, current?.explicitMaxTtlSeconds ?? 0),
    periodSeconds: isLogin
      ? (current.periodSeconds ?? 0)
      : smallestSet(entry.periodSeconds, current?.periodSeconds ?? 0),
    mount,
  })
}

/**
 * Returns the record with its new expiry. Does not change the period of the record, even if the role has a new period.
 */
export const renewed = (record: StoredToken, ttlSeconds: number, nowMs: number): StoredToken => {
  const expiresAtMs = nowMs + lifeMs(ttlSeconds)
  return {
    ...record,
    leaseTtlSeconds: ttlSeconds,
    lastRenewalMs: nowMs,
    expiresAtMs,
    sweepAtMs: record.numUses < 0 ? record.sweepAtMs : expiresAtMs,
  }
}
