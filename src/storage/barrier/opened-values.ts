import { LIMITS } from '../../base/limits.js'
import { RecentCache } from '../../base/recent-cache.js'

interface Opened {
  readonly stored: Buffer
  readonly plain: Buffer
}

/**
 * Values that were decrypted not long ago. One counts only for the very bytes it was decrypted from, so nothing has to be
 * told when a key changes: the store is asked as ever, and only the cipher is spared. Holds at least the values of
 * `openedValuesMax` keys used last and at most twice as many, none larger than `openedValueBytesMax`. Whoever is given a
 * plain value must not change it.
 */
export class OpenedValues {
  readonly #opened = new RecentCache<Opened>(LIMITS.openedValuesMax)

  find(key: string, stored: Buffer): Buffer | undefined {
    const found = this.#opened.get(key)
    // Most often the very buffer: the engine remembers it as well.
    return found && (found.stored === stored || found.stored.equals(stored)) ? found.plain : undefined
  }

  add(key: string, stored: Buffer, plain: Buffer): void {
    if (stored.length <= LIMITS.openedValueBytesMax) this.#opened.set(key, { stored, plain })
  }

  /** A key whose value was asked for not long ago is written anew: it will be asked for again. */
  renew(key: string, stored: Buffer, plain: Buffer): void {
    // One that is cut from a larger buffer would hold on to all of it.
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
