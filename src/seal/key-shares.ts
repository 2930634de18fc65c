/**
 * Shamir's scheme over GF(256). A share is the key's bytes and one index byte. A split into one part is no split: the
 * share is the key itself.
 */
import { combine, split } from 'shamir-secret-sharing'
import type { SealConfig } from './config.js'

/** The shares of `key`, in no particular order of index. `config` has been found good. */
export const splitKey = async (key: Buffer, config: SealConfig): Promise<Buffer[]> => {
  if (config.shares === 1) return [Buffer.from(key)]
  const shares = await split(plainBytes(key), config.shares, config.threshold)
  return shares.map((share) => Buffer.from(share))
}

/**
 * The key that `shares` make. Undefined when they cannot belong together (lengths, a repeated index). Shares that only
 * look right make a wrong key: whoever calls must try it on something.
 */
export const combineShares = async (shares: readonly Buffer[], config: SealConfig): Promise<Buffer | undefined> => {
  const first = shares[0]
  if (!first) return undefined
  if (config.shares === 1) return Buffer.from(first)
  const indices = new Set(shares.map((share) => share.at(-1)))
  if (indices.size !== shares.length || shares.some((share) => share.length !== first.length)) return undefined
  return Buffer.from(await combine(shares.map(plainBytes)))
}

/** The library takes arrays of exactly this class, not of a subclass such as Buffer. */
const plainBytes = (bytes: Buffer): Uint8Array => new Uint8Array(bytes)
