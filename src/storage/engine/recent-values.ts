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
  /** What batches under way write: a set for each, which goes with it. */
  readonly #writing: ReadonlySet<string>[] = []

  find(key: string): Buffer | undefined {
    return this.#values.get(key)
  }

  add(key: string, value: Buffer): void {
    if (!isData(key) || value.length > LIMITS.recentValueBytesMax) return
    if (this.#writing.some((keys) => keys.has(key))) return
    this.#values.set(key, value)
  }

  /** To be called before anything of a batch with these keys is written; the result when nothing of it will be any more. */
  begin(keys: readonly string[]): () => void {
    const written = new Set<string>()
    for (const key of keys) {
      if (!isData(key)) continue
      this.#values.delete(key)
      written.add(key)
    }
    this.#writing.push(written)
    return () => void this.#writing.splice(this.#writing.indexOf(written), 1)
  }

  clear(): void {
    this.#values.clear()
  }
}

/** The log, leaves and pages are remembered elsewhere, or read once. */
const isData = (key: string): boolean => key.startsWith(DATA_PREFIX)
