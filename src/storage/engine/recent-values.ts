import { LIMITS } from '../../base/limits.js'
import { RecentCache } from '../../base/recent-cache.js'
import { DATA_PREFIX } from '../raw-keys.js'

/**
 * Stored values that were read not long ago, kept by the engine itself: every change of a key goes through a batch of it. A
 * key of a batch that is being written is forgotten, and neither served from here nor remembered until the batch has ended,
 * however it does; so a read sees what it would see on the disk, and nothing is older than what was seen before. Holds at
 * least the values of `recentValuesMax` keys used last and at most twice as many, none larger than `recentValueBytesMax`.
 * Whoever is given a value must not change it.
 */
export class RecentValues {
  readonly #values = new RecentCache<Buffer>(LIMITS.recentValuesMax)
  /** How many batches under way write a key. */
  readonly #writing = new Map<string, number>()

  find(key: string): Buffer | undefined {
    return this.#values.get(key)
  }

  add(key: string, value: Buffer): void {
    if (!isData(key) || value.length > LIMITS.recentValueBytesMax || this.#writing.has(key)) return
    this.#values.set(key, value)
  }

  /** To be called before anything of a batch with these keys is written. */
  begin(keys: readonly string[]): void {
    for (const key of keys) {
      if (!isData(key)) continue
      this.#values.delete(key)
      this.#writing.set(key, (this.#writing.get(key) ?? 0) + 1)
    }
  }

  /** To be called when nothing of that batch will be written any more. */
  end(keys: readonly string[]): void {
    for (const key of keys) {
      if (!isData(key)) continue
      const left = (this.#writing.get(key) ?? 0) - 1
      if (left > 0) this.#writing.set(key, left)
      else this.#writing.delete(key)
    }
  }

  clear(): void {
    this.#values.clear()
  }
}

/** The log, leaves and pages are remembered elsewhere, or read once. */
const isData = (key: string): boolean => key.startsWith(DATA_PREFIX)
