/**
 * Auto-unseal with a key from the server's configuration. To replace the key, restart the server once with both keys:
 * the previous key unwraps, and the current key wraps again.
 */
import type { Random } from '../base/random.js'
import { unwrapKey, wrapKey } from './key-wrapping.js'

export interface AutoSeal {
  /**
   * The `type` in `sys/seal-status`: `static`, `transit`, or the cloud seal that `simulate_seals` simulates, such as
   * `awskms`.
   */
  readonly type: string
  wrap(key: Buffer): Buffer | Promise<Buffer>
  /**
   * Unwraps a key. If `isCurrent` is false, the previous key wrapped it, and it must be wrapped again. Returns
   * undefined if neither key wrapped it. If another cluster holds the key, both methods reject while it is unavailable.
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
  /** Identifies the key in its wrapped keys; at most 255 bytes. */
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

/**
 * Creates the seal. Stored form of a wrapped key: one byte with the length of the wrapping key's ID, the ID, the
 * wrapped key.
 */
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
