import type { Clock } from '../base/clock.js'
import type { WrappingSigner } from '../core/wrapping.js'
import { createSigningKey, type JwtKey, openSigningKey } from '../crypto/jwt.js'
import { isExpired, readWrappingClaims, wrappingClaims } from '../crypto/wrapping-claims.js'
import type { Storage } from '../logical/storage.js'

const KEY = 'core/wrapping/jwtkey'

/**
 * Signs wrapping tokens with the one key of the replication set. The key is made at the first need, which only a cluster
 * that may write shared data can have first.
 */
export const createWrappingSigner = (options: {
  readonly storage: Storage
  readonly clock: Clock
  /** The API address that receivers are told to unwrap at. */
  readonly address: () => string
}): WrappingSigner => {
  const { storage, clock, address } = options
  let opened: { stored: Buffer; key: JwtKey } | undefined
  const open = (): JwtKey | undefined => {
    const stored = storage.get(KEY)
    if (!stored) return undefined
    if (!opened?.stored.equals(stored)) opened = { stored, key: openSigningKey(stored) }
    return opened.key
  }
  const make = async (): Promise<JwtKey> => {
    const made = createSigningKey()
    await storage.write((tx) => {
      if (!tx.get(KEY)) tx.put(KEY, made)
    })
    return open() ?? openSigningKey(made)
  }
  return {
    async sign({ tokenId, ttlSeconds }) {
      const key = open() ?? (await make())
      return key.sign(wrappingClaims({ address: address(), tokenId, ttlSeconds, nowMs: clock.now() }))
    },
    async verify(jwt) {
      const claims = await open()?.verify(jwt)
      const wrapping = claims && readWrappingClaims(claims)
      return wrapping && !isExpired(wrapping, clock.now()) ? wrapping.tokenId : undefined
    },
  }
}
