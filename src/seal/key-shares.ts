/**
 * Shamir's secret sharing over GF(256). A share has as many bytes as the key, followed by one index byte. If there is
 * only one share, it is the key itself.
 */
import { combine } from 'shamir-secret-sharing'
import type { Random } from '../base/random.js'
import type { SealConfig } from './config.js'

/**
 * Splits `key` into shares, which are not sorted by index. `config` must be valid.
 *
 * The key and `threshold - 1` random shares determine a polynomial, and the other shares are values of this polynomial.
 * The library could split keys too, but uses its own random numbers. A seed must give the same shares each time.
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

/**
 * Returns `count` different indices from 1 to 255, drawn by a Fisher-Yates shuffle. The shuffle is slightly biased,
 * which is harmless, since indices are not secret.
 */
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

/**
 * Returns the value at `index` of the polynomial through `known`. `combine` returns the value at 0. Therefore every
 * index is first shifted by `index`, which is an XOR in GF(256).
 */
const shareAt = async (known: readonly Buffer[], index: number): Promise<Buffer> => {
  const moved = known.map((share) => shareOf(share.subarray(0, -1), (share.at(-1) ?? 0) ^ index))
  return shareOf(Buffer.from(await combine(moved.map(plainBytes))), index)
}

/**
 * Reconstructs the key from `shares`. Returns undefined if the shares differ in length or an index repeats. Other
 * invalid shares give a wrong key, so the caller must verify the result.
 */
export const combineShares = async (shares: readonly Buffer[], config: SealConfig): Promise<Buffer | undefined> => {
  const first = shares[0]
  if (!first) return undefined
  if (config.shares === 1) return Buffer.from(first)
  const indices = new Set(shares.map((share) => share.at(-1)))
  if (indices.size !== shares.length || shares.some((share) => share.length !== first.length)) return undefined
  return Buffer.from(await combine(shares.map(plainBytes)))
}

/** Returns a copy as a Uint8Array, because the library rejects subclasses such as Buffer. */
const plainBytes = (bytes: Buffer): Uint8Array => new Uint8Array(bytes)
