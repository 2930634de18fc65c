/**
 * Decisions of transactions that are not committed yet. A decision counts for whoever decides next, so that no two take the
 * same place, and for nobody else: readers are shown what is committed, and a write that fails leaves nothing behind.
 */
export class Reservations<T> {
  readonly #byKey = new Map<string, T>()

  /** For within the transaction. `release` must follow when it has ended, however. */
  reserve(key: string, value: T): void {
    this.#byKey.set(key, value)
  }

  /** A later one of the same key stays. */
  release(key: string, value: T): void {
    if (this.#byKey.get(key) === value) this.#byKey.delete(key)
  }

  find(key: string): T | undefined {
    return this.#byKey.get(key)
  }

  /** The committed rows, those left out that a reservation replaces, and the reservations. */
  over(committed: Iterable<readonly [string, T]>): T[] {
    if (this.#byKey.size === 0) return Array.from(committed, ([, value]) => value)
    return [...new Map([...committed, ...this.#byKey]).values()]
  }
}
