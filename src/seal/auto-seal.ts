/**
 * Auto-unseal with a key that the server is configured with. The previous key still opens what it wrapped, so that a
 * key can be replaced by one restart with both.
 */
import type { Random } from '../base/random.js'
import { unwrapKey, wrapKey } from './key-wrapping.js'

export interface AutoSeal {
  /** As seal-status reports it: `static`, `transit`, or the type that is simulated. */
  readonly type: string
  wrap(key: Buffer): Buffer | Promise<Buffer>
  /**
   * `isCurrent` false: wrapped by the previous key, to be wrapped anew. Undefined: by neither. Where another cluster does it,
   * both reject while that one cannot.
   */
  unwrap(wrapped: Buffer): Unwrapped | undefined | Promise<Unwrapped | undefined>
}

interface Unwrapped {
  readonly key: Buffer
  readonly isCurrent: boolean
}

interface StaticSeal extends AutoSeal {
  wrap(key: Buffer): Buffer
  unwrap(wrapped: Buffer): Unwrapped | undefined
}

export interface SealKey {
  /** Names the key in what it wrapped; at most 255 bytes. */
  readonly id: string
  /** 32 bytes. */
  readonly key: Buffer
}

interface StaticSealOptions {
  readonly type: string
  readonly current: SealKey
  readonly previous?: SealKey | undefined
  readonly random: Random
}

const PURPOSE = 'core/auto-wrapped-root'

/** Stored form: one byte with the length of the id of the wrapping key, the id, the wrapped key. */
export const createStaticSeal = ({ type, current, previous, random }: StaticSealOptions): StaticSeal => ({
  type,
  wrap(key) {
    const id = Buffer.from(current.id)
    return Buffer.concat([Buffer.from([id.length]), id, wrapKey(random, current.key, key, PURPOSE)])
  },
  unwrap(wrapped) {
    const idLength = wrapped[0] ?? 0
    const id = wrapped.subarray(1, 1 + idLength).toString()
    const body = wrapped.subarray(1 + idLength)
    for (const candidate of [current, previous]) {
      if (candidate?.id !== id) continue
      const key = unwrapKey(candidate.key, body, PURPOSE)
      if (key) return { key, isCurrent: candidate === current }
    }
    return undefined
  },
})
