import type { Clock } from '../../base/clock.js'
import { namespaceIdOf, newTokenId, suffixOf } from '../tokens/token-format.js'
import { hmacSha256Hex } from '../../crypto/digest.js'
import type { Random } from '../../base/random.js'
import type { WrappingSigner } from './wrapping.js'
import { type JwtKey, type JwtKeys, P521_JWT_KEYS } from '../../crypto/jwt.js'
import { isExpired, readWrappingClaims, wrappingClaims } from '../../crypto/wrapping-claims.js'
import type { Storage } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'

/** The number of hex digits in a token ID: 192 bits. */
const TOKEN_HEX_DIGITS = 48

/**
 * Creates the signer of wrapping tokens. All clusters of a replication set share one key. The first use creates the
 * key, which only a cluster that can write replicated data can do.
 */
export const createWrappingSigner = (options: {
  readonly storage: Storage
  readonly clock: Clock
  readonly random: Random
  readonly deriveKey: (purpose: string) => Buffer
  /** Returns the API address at which recipients unwrap. */
  readonly address: () => string
  readonly jwtKeys?: JwtKeys | undefined
}): WrappingSigner => {
  const { storage, clock, random, deriveKey, address, jwtKeys = P521_JWT_KEYS } = options
  const tokenIdOf = (name: string): string =>
    `hvs.${hmacSha256Hex(deriveKey('wrapping-jwt'), name).slice(0, TOKEN_HEX_DIGITS)}`
  let opened: { stored: Buffer; key: JwtKey } | undefined
  const open = (): JwtKey | undefined => {
    const stored = storage.get(KEYS.wrappingKey)
    if (!stored) return undefined
    if (!opened?.stored.equals(stored)) opened = { stored, key: jwtKeys.open(stored) }
    return opened.key
  }
  const make = async (): Promise<JwtKey> => {
    const made = jwtKeys.create()
    await storage.write((tx) => {
      if (!tx.get(KEYS.wrappingKey)) tx.put(KEYS.wrappingKey, made)
    })
    return open() ?? jwtKeys.open(made)
  }
  return {
    newName(namespaceId) {
      const name = newTokenId(random, namespaceId)
      return { name, tokenId: tokenIdOf(name) }
    },
    async sign({ name, ttlSeconds }) {
      const key = open() ?? (await make())
      return key.sign(wrappingClaims({ address: address(), name, ttlSeconds, nowMs: clock.now() }))
    },
    async verify(jwt) {
      const claims = await open()?.verify(jwt)
      const wrapping = claims && readWrappingClaims(claims)
      if (!wrapping || isExpired(wrapping, clock.now())) return undefined
      return tokenIdOf(wrapping.name) + suffixOf(namespaceIdOf(wrapping.name))
    },
  }
}
