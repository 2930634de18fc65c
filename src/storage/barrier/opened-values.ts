import { LIMITS } from '../../base/limits.js'

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
  #young = new Map<string, Opened>()
  #old = new Map<string, Opened>()

  find(key: string, stored: Buffer): Buffer | undefined {
    const young = this.#young.get(key)
    const found = young ?? this.#old.get(key)
    if (found === undefined || !found.stored.equals(stored)) return undefined
    if (young === undefined) this.#put(key, found)
    return found.plain
  }

  add(key: string, stored: Buffer, plain: Buffer): void {
    if (stored.length <= LIMITS.openedValueBytesMax) this.#put(key, { stored, plain })
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
  }

  #put(key: string, opened: Opened): void {
    if (this.#young.size >= LIMITS.openedValuesMax) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, opened)
  }
}
