/**
 * The claims of a wrapping token in JWT form. They contain the address of the server that unwraps the token, the
 * expiry, and the name of the internal single-use token.
 */
import type { JwtClaims } from './jwt.js'

interface WrappingClaims {
  /** The API address of the server that unwraps the token; empty if the signer has none configured. */
  readonly address: string
  /** The internal name of the single-use token. It is not the token itself. */
  readonly name: string
  /** The expiry, in seconds since the epoch. */
  readonly expiresAt: number
}

/** The token becomes valid this long before its creation (in seconds), which tolerates clock differences. */
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

/** Returns the claims of a wrapping token; undefined for other claims. The caller checks the expiry. */
export const readWrappingClaims = (claims: JwtClaims): WrappingClaims | undefined => {
  const { type, jti, exp, addr } = claims
  if (type !== 'wrapping' || typeof jti !== 'string' || jti === '' || typeof exp !== 'number') return undefined
  return { address: typeof addr === 'string' ? addr : '', name: jti, expiresAt: exp }
}

export const isExpired = (claims: WrappingClaims, nowMs: number): boolean => nowMs >= claims.expiresAt * 1000
