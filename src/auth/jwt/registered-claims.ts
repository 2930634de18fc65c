/** The registered claims of a token (RFC 7519, 4.1): issuer, subject, audience and times. */
import { RawNumber } from '../../base/json.js'
import { invalid, type LogicalError } from '../../logical/errors.js'
import type { JsonObject, JsonValue } from '../../logical/json.js'
import { claimTexts } from './claims.js'
import type { JwtRole } from './roles.js'

const DEFAULT_LEEWAY_SECONDS = 150
const DEFAULT_SKEW_SECONDS = 60

interface Expected {
  readonly role: JwtRole
  /** Empty if any issuer is accepted. */
  readonly issuer: string
  readonly nowSeconds: number
}

/** Throws LogicalError 400 for a token that is not valid now, or not for this role. */
export const checkRegisteredClaims = (claims: JsonObject, { role, issuer, nowSeconds }: Expected): void => {
  if (issuer !== '' && claims.iss !== issuer) throw invalidToken('invalid issuer (iss) claim')
  if (role.boundSubject !== '' && claims.sub !== role.boundSubject) throw invalidToken('invalid subject (sub) claim')
  checkTimes(claims, role, nowSeconds)
  const audiences = claims.aud === undefined || claims.aud === null ? [] : claimTexts(claims.aud)
  if (!audiences) throw invalidToken('invalid audience (aud) claim: it is not a text or a list of texts')
  if (role.boundAudiences.length === 0 && audiences.length > 0) {
    throw invalid('audience claim found in JWT but no audiences bound to the role')
  }
  if (role.boundAudiences.length > 0 && !audiences.some((one) => role.boundAudiences.includes(one))) {
    throw invalidToken('invalid audience (aud) claim: audience claim does not match any expected audience')
  }
}

/**
 * Checks the times. A token must have one of them: without `exp`, it expires a leeway after the others; without `nbf`,
 * it is valid from `iat`, or a leeway before `exp`. The clock skew widens all limits.
 */
const checkTimes = (claims: JsonObject, role: JwtRole, nowSeconds: number): void => {
  const [issued, sentStart, sentEnd] = [timeOf(claims, 'iat'), timeOf(claims, 'nbf'), timeOf(claims, 'exp')]
  if (issued === undefined && sentStart === undefined && sentEnd === undefined) {
    throw invalidToken('no issued at (iat), not before (nbf), or expiration time (exp) claims in token')
  }
  const latest = Math.max(issued ?? 0, sentStart ?? 0)
  const end = sentEnd ?? latest + leewayOf(role.expirationLeewaySeconds, DEFAULT_LEEWAY_SECONDS)
  const start = sentStart ?? issued ?? end - leewayOf(role.notBeforeLeewaySeconds, DEFAULT_LEEWAY_SECONDS)
  const skew = leewayOf(role.clockSkewSeconds, DEFAULT_SKEW_SECONDS)
  if (nowSeconds > end + skew) throw invalidToken('invalid expiration time (exp) claim: token is expired')
  if (nowSeconds < start - skew) throw invalidToken('invalid not before (nbf) claim: token not yet valid')
  if (nowSeconds < (issued ?? 0) - skew) throw invalidToken('invalid issued at (iat) claim: token issued in the future')
}

/** Returns a leeway in seconds: 0 means the default, a negative value none. */
const leewayOf = (seconds: number, fallback: number): number => (seconds === 0 ? fallback : Math.max(0, seconds))

const timeOf = (claims: JsonObject, name: string): number | undefined => {
  const value: JsonValue | undefined = claims[name]
  const seconds = value instanceof RawNumber ? Number(value.text) : value
  if (seconds === undefined || seconds === null || seconds === 0) return undefined
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) throw invalidToken(`invalid ${name} claim`)
  return seconds
}

export const invalidToken = (why: string): LogicalError => invalid(`error validating token: ${why}`)
