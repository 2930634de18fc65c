import { LIMITS } from '../../base/limits.js'
import { RecentCache } from '../../base/recent-cache.js'

/**
 * Cache of recently decrypted values. An entry is valid only for the encrypted bytes that it was decrypted from, so a
 * write needs no invalidation. Callers still read the encrypted value from the store. The cache saves only the
 * decryption. It holds the `decryptedValuesMax` most recently used values, and at most twice as many. Values with more
 * than `decryptedValueBytesMax` encrypted bytes are not cached. Callers must not change a cached value.
 */
export class DecryptionCache {
  readonly #opened = new RecentCache<{ readonly stored: Buffer; readonly plain: Buffer }>(LIMITS.decryptedValuesMax)

  find(key: string, stored: Buffer): Buffer | undefined {
    const found = this.#opened.get(key)
    // The buffers are usually identical, because the engine also caches stored values.
    return found && (found.stored === stored || found.stored.equals(stored)) ? found.plain : undefined
  }

  add(key: string, stored: Buffer, plain: Buffer): void {
    if (stored.length <= LIMITS.decryptedValueBytesMax) this.#opened.set(key, { stored, plain })
  }

  /** Replaces the value of a cached key after a write. Ignores other keys: only a cached key was read recently. */
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
