import { LIMITS } from '../../base/limits.js'
import { RecentCache } from '../../base/recent-cache.js'
import { DATA_PREFIX } from '../keys/raw-keys.js'

/** Of a key that was looked for and is not there. */
export const ABSENT = 'absent'

/**
 * Stored values that were read not long ago, and that there was none, kept by the engine itself: every change of a key goes through a batch of it. A
 * key of a batch that is being written is forgotten, and neither served from here nor remembered until the batch has ended,
 * however it does; so a read sees what it would see on the disk, and nothing is older than what was seen before. Holds at
 * least the values of `recentValuesMax` keys used last and at most twice as many, none larger than `recentValueBytesMax` with its key; of
 * keys that are not there `recentAbsencesMax`, apart from them: whoever guesses keys drives out no values.
 * Whoever is given a value must not change it.
 */
export class RecentValues {
  readonly #values = new RecentCache<Buffer>(LIMITS.recentValuesMax)
  readonly #absent = new RecentCache<typeof ABSENT>(LIMITS.recentAbsencesMax)
  /** What batches under way write: a set for each, which goes with it. */
  readonly #writing: Pick<ReadonlySet<string>, 'has'>[] = []

  /** Undefined: not known. */
  find(key: string): Buffer | typeof ABSENT | undefined {
    return this.#values.get(key) ?? this.#absent.get(key)
  }

  add(key: string, value: Buffer | undefined): void {
    if (!isData(key) || key.length + (value?.length ?? 0) > LIMITS.recentValueBytesMax) return
    if (this.#writing.some((keys) => keys.has(key))) return
    if (value === undefined) this.#absent.set(key, ABSENT)
    else this.#values.set(key, value)
  }

  /** To be called before anything of a batch with these keys is written; the result when nothing of it will be any more. */
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

/** The keys of a batch that has too many to go through them. */
const EVERYTHING = { has: () => true }

/** The log, leaves and pages are remembered elsewhere, or read once. */
const isData = (key: string): boolean => key.startsWith(DATA_PREFIX)
