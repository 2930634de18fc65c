import { LIMITS } from '../../base/limits.js'
import { RecentCache } from '../../base/recent-cache.js'
import { DATA_PREFIX } from '../keys/raw-keys.js'

/** Marks a key that was read and does not exist. */
export const ABSENT = 'absent'

/**
 * Cache of recently read stored values and of absent keys, maintained by the engine: every change of a key goes through
 * one of its batches. While a batch is being written, its keys are neither read from the cache nor added to it. A
 * cached value is therefore never older than the value on disk. Holds at least the values of the
 * `recentValuesMax` most recently used keys and at most twice as many. No value is larger than `recentValueBytesMax`
 * including its key. Absent keys are kept separately, at most `recentAbsencesMax`, so that requests for random keys
 * evict no values. Callers must not change a returned value.
 */
export class RecentValues {
  readonly #values = new RecentCache<Buffer>(LIMITS.recentValuesMax)
  readonly #absent = new RecentCache<typeof ABSENT>(LIMITS.recentAbsencesMax)
  /** The keys of batches that are being written, one set per batch. */
  readonly #writing: Pick<ReadonlySet<string>, 'has'>[] = []

  /** Returns undefined if the value is not cached. */
  find(key: string): Buffer | typeof ABSENT | undefined {
    return this.#values.get(key) ?? this.#absent.get(key)
  }

  add(key: string, value: Buffer | undefined): void {
    if (!isData(key) || key.length + (value?.length ?? 0) > LIMITS.recentValueBytesMax) return
    if (this.#writing.some((keys) => keys.has(key))) return
    if (value === undefined) this.#absent.set(key, ABSENT)
    else this.#values.set(key, value)
  }

  /** Must be called before a batch with these keys is written. Call the result when the write has ended. */
  begin(keys: readonly string[]): () => void {
    const isLarge = keys.length > LIMITS.recentValuesMax
    if (isLarge) this.clear()
    const written = isLarge ? EVERYTHING : this.#forget(keys)
    this.#writing.push(written)
    return () => void this.#writing.splice(this.#writing.indexOf(written), 1)
  }

  #forget(keys: readonly string[]): ReadonlySet<string> {
    const written = new Set<string>()
    for (const key of keys) {
      if (!isData(key)) continue
      this.#values.delete(key)
      this.#absent.delete(key)
      written.add(key)
    }
    return written
  }

  clear(): void {
    this.#values.clear()
    this.#absent.clear()
  }
}

/** The key set of a batch with too many keys to list. */
const EVERYTHING = { has: () => true }

/** Returns true for data. The log, leaves and pages are cached elsewhere or read once. */
const isData = (key: string): boolean => key.startsWith(DATA_PREFIX)
