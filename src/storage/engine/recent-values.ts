import { LIMITS } from '../../base/limits.js'
import { RecentCache } from '../../base/recent-cache.js'
import { DATA_PREFIX } from '../keys/raw-keys.js'

/** Marks a key that was read and has no value. */
export const ABSENT = 'absent'

/**
 * Cache of recently read stored values and of keys without a value. The engine keeps it up to date, because every
 * change goes through a batch of the engine. While a batch is being written, the cache holds none of its keys. A cached
 * value is therefore never older than the value on disk.
 *
 * The cache holds the `recentValuesMax` most recently used values, and at most twice as many. A key and its value
 * together have at most `recentValueBytesMax` characters and bytes. Keys without a value have their own cache
 * (`recentAbsencesMax`), so that requests for random keys do not evict values. Callers must not change a returned
 * value.
 */
export class RecentValues {
  readonly #values = new RecentCache<Buffer>(LIMITS.recentValuesMax)
  readonly #absent = new RecentCache<typeof ABSENT>(LIMITS.recentAbsencesMax)
  /** The keys of batches that are being written, one set per batch. */
  readonly #writing: Pick<ReadonlySet<string>, 'has'>[] = []

  /** Returns the cached value, `ABSENT` if the key has no value, or undefined if the key is not cached. */
  find(key: string): Buffer | typeof ABSENT | undefined {
    return this.#values.get(key) ?? this.#absent.get(key)
  }

  add(key: string, value: Buffer | undefined): void {
    if (!isData(key) || key.length + (value?.length ?? 0) > LIMITS.recentValueBytesMax) return
    if (this.#writing.some((keys) => keys.has(key))) return
    if (value === undefined) this.#absent.set(key, ABSENT)
    else this.#values.set(key, value)
  }

  /** Drops keys that a batch is about to change. The returned function must be called when the write has ended. */
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

/** Returns true for data records. Log frames, leaves and pages are cached elsewhere or read only once. */
const isData = (key: string): boolean => key.startsWith(DATA_PREFIX)
