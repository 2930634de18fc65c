/**
 * Claims of a wrapping token in JWT form: the address to unwrap it, its expiry, and the name of the single-use token
 * behind it.
 */
import type { JwtClaims } from './jwt.js'

interface WrappingClaims {
  /** The API address to unwrap at; empty if the signer has none configured. */
  readonly address: string
  /** The internal name of the single-use token, not the token itself. */
  readonly name: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** Tolerates a receiver clock that is slightly behind. */
const BACKDATED_SECONDS = 5

export const wrappingClaims = (options: {
  readonly address: string
  readonly name: string
  readonly ttlSeconds: number
  readonly nowMs: number
}): JwtClaims => {
  const issuedAt = Math.floor(options.nowMs / 1000)
  return {
    accessor: '',
    addr: options.address,
    exp: issuedAt + Math.ceil(options.ttlSeconds),
    iat: issuedAt,
    jti: options.name,
    nbf: issuedAt - BACKDATED_SECONDS,
    type: 'wrapping',
  }
}

/** Returns undefined if these are not the claims of a wrapping token. The caller checks the expiry. */
export const readWrappingClaims = (claims: JwtClaims): WrappingClaims | undefined => {
  const { type, jti, exp, addr } = claims
  if (type !== 'wrapping' || typeof jti !== 'string' || jti === '' || typeof exp !== 'number') return undefined
  return { address: typeof addr === 'string' ? addr : '', name: jti, expiresAt: exp }
}

export const isExpired = (claims: WrappingClaims, nowMs: number): boolean => nowMs >= claims.expiresAt * 1000
