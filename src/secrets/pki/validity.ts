/** Decides how long a certificate is valid, and how it is signed. */
import { formatGoDuration } from '../../base/duration.js'
import type { Signer } from '../../crypto/x509-signing.js'
import { invalid } from '../../logical/errors.js'
import type { LeafBehavior } from './records.js'

interface ValidityRequest {
  readonly nowMs: number
  /** In seconds; 0 means not requested. */
  readonly ttl: number
  /** Empty means not requested. */
  readonly notAfter: string
  readonly role: { readonly ttl: number; readonly max_ttl: number; readonly not_after: string }
  readonly mount: { readonly defaultLeaseTtlSeconds: number; readonly maxLeaseTtlSeconds: number }
}

export interface Validity {
  readonly notAfterMs: number
  readonly warnings: string[]
}

const NOT_AFTER = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/

/** Throws LogicalError 400 for a text in another format. */
const parseNotAfter = (text: string): number => {
  const ms = NOT_AFTER.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) throw invalid(`not_after ${JSON.stringify(text)} is not a time such as 2031-01-01T00:00:00Z`)
  return ms
}

/** Returns the end of a certificate's validity. A TTL above the maximum is reduced, with a warning. */
export const decideValidity = ({ nowMs, ttl, notAfter, role, mount }: ValidityRequest): Validity => {
  if (ttl > 0 && notAfter !== '') {
    throw invalid('Either ttl or not_after should be provided. Both should not be provided in the same request.')
  }
  const maximum = role.max_ttl > 0 ? role.max_ttl : mount.maxLeaseTtlSeconds
  const end = notAfter || (ttl > 0 ? '' : role.not_after)
  if (end !== '') {
    const [wanted, latest] = [parseNotAfter(end), nowMs + maximum * 1000]
    if (wanted <= latest || role.max_ttl === 0) return { notAfterMs: wanted, warnings: [] }
    return {
      notAfterMs: latest,
      warnings: [`not_after ${end} is after the maximum TTL, so the maximum TTL is being used`],
    }
  }
  const wanted = ttl || role.ttl || mount.defaultLeaseTtlSeconds
  if (wanted <= maximum) return { notAfterMs: nowMs + wanted * 1000, warnings: [] }
  const [asked, most] = [wanted, maximum].map(formatGoDuration)
  const warning = `TTL "${asked}" is longer than permitted maxTTL "${most}", so maxTTL is being used`
  return { notAfterMs: nowMs + maximum * 1000, warnings: [warning] }
}

/** Formats a time without fractions of a second, like Go. */
const goTime = (ms: number): string => new Date(ms).toISOString().replace(/\.?0*Z$/, 'Z')

/** Applies the end of the issuer's validity. Throws LogicalError 400 if the issuer does not allow a later end. */
export const limitToIssuer = (notAfterMs: number, issuerEndMs: number, behavior: LeafBehavior): number => {
  if (notAfterMs <= issuerEndMs || behavior === 'permit') return notAfterMs
  if (behavior === 'truncate') return issuerEndMs
  throw invalid(
    `cannot satisfy request, as TTL would result in notAfter of ${goTime(notAfterMs)} that is beyond the expiration of the CA certificate at ${goTime(issuerEndMs)}`,
  )
}

/** Throws LogicalError 400 for another number of bits. */
export const parseSignatureBits = (bits: number): Signer['hashBits'] => {
  if (bits === 0 || bits === 256 || bits === 384 || bits === 512) return bits
  throw invalid(`unsupported hash signature algorithm: ${bits}`)
}
