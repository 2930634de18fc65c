/**
 * Auto-unseal with a key from the configuration of the server. To replace the key, the operator restarts the server
 * once with both keys. The server then unwraps with the previous key and wraps again with the current key.
 */
import type { Random } from '../base/random.js'
import { unwrapKey, wrapKey } from './key-wrapping.js'

export interface AutoSeal {
  /**
   * The `type` that `sys/seal-status` returns: `static`, `transit` or a simulated cloud seal (setting
   * `simulate_seals`), such as `awskms`.
   */
  readonly type: string
  wrap(key: Buffer): Buffer | Promise<Buffer>
  /**
   * Unwraps a key. If `isCurrent` is false, the previous key had wrapped the value, and the caller must wrap it again.
   * Returns undefined if neither key had wrapped the value. If another cluster holds the key and is unavailable, this
   * method and `wrap` reject.
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
  /** The ID of the key, which is stored with each value that the key wraps; at most 255 bytes. */
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
 * Creates the seal. A wrapped key has this form: one byte with the length of the wrapping key's ID, the ID, and the
 * encrypted key.
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
