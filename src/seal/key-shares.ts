/**
 * Shamir's scheme over GF(256). A share is the key's bytes and one index byte. A split into one part is no split: the
 * share is the key itself.
 */
import { combine } from 'shamir-secret-sharing'
import type { Random } from '../base/random.js'
import type { SealConfig } from './config.js'

/**
 * The shares of `key`, in no particular order of index. `config` has been found good.
 *
 * The key and as many random shares as the threshold has beyond it fix a polynomial, whose values are the others: the library
 * splits with random numbers of its own, and a seed has to give the same shares each time.
 */
export const splitKey = async (random: Random, key: Buffer, config: SealConfig): Promise<Buffer[]> => {
  if (config.shares === 1) return [Buffer.from(key)]
  const indices = drawIndices(random, config.shares)
  const drawn = indices.slice(1 - config.threshold).map((index) => shareOf(random.bytes(key.length), index))
  const known = [shareOf(key, 0), ...drawn]
  const others = indices.slice(0, 1 - config.threshold).map((index) => shareAt(known, index))
  return [...(await Promise.all(others)), ...drawn]
}

const INDICES = 255

/** So many different ones from 1 to 255: the first of a Fisher-Yates shuffle. Indices are no secret, so its bias does no harm. */
const drawIndices = (random: Random, count: number): number[] => {
  const all = Array.from({ length: INDICES }, (_, at) => at + 1)
  const draws = random.bytes(4 * count)
  for (let at = 0; at < count; at++) {
    const other = at + (draws.readUInt32BE(4 * at) % (INDICES - at))
    ;[all[at], all[other]] = [all[other] ?? 0, all[at] ?? 0]
  }
  return all.slice(0, count)
}

const shareOf = (bytes: Buffer, index: number): Buffer => Buffer.from([...bytes, index])

/** The value at `index` of the polynomial through `known`. Combining gives the one at 0, so all are moved: adding is XOR here. */
const shareAt = async (known: readonly Buffer[], index: number): Promise<Buffer> => {
  const moved = known.map((share) => shareOf(share.subarray(0, -1), (share.at(-1) ?? 0) ^ index))
  return shareOf(Buffer.from(await combine(moved.map(plainBytes))), index)
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
