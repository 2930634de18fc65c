import { LIMITS } from '../../base/limits.js'
import { RecentCache } from '../../base/recent-cache.js'

/**
 * Cache of recently decrypted values. An entry is valid only for the exact bytes it was decrypted from, so key changes
 * need no invalidation. The store is still read; only the decryption is saved. Holds at least the values of the
 * `decryptedValuesMax` most recently used keys and at most twice as many. No value is larger than `decryptedValueBytesMax`.
 * Callers must not change a plain value.
 */
export class DecryptionCache {
  readonly #opened = new RecentCache<{ readonly stored: Buffer; readonly plain: Buffer }>(LIMITS.decryptedValuesMax)

  find(key: string, stored: Buffer): Buffer | undefined {
    const found = this.#opened.get(key)
    // Usually the same buffer, because the engine caches it too.
    return found && (found.stored === stored || found.stored.equals(stored)) ? found.plain : undefined
  }

  add(key: string, stored: Buffer, plain: Buffer): void {
    if (stored.length <= LIMITS.decryptedValueBytesMax) this.#opened.set(key, { stored, plain })
  }

  /** Updates a key that was read recently, because it is likely to be read again. */
  renew(key: string, stored: Buffer, plain: Buffer): void {
    // A slice of a larger buffer would keep the whole buffer in memory.
    const isWhole = plain.buffer.byteLength === plain.length
    if (isWhole && this.#opened.get(key) !== undefined) this.add(key, wholeCopyOf(stored), plain)
  }

  clear(): void {
    this.#opened.clear()
  }
}

const wholeCopyOf = (bytes: Buffer): Buffer => {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
