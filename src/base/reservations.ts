/**
 * Decisions of uncommitted transactions. Later decisions take them into account, so that no two transactions claim the
 * same resource. Readers see only committed data, and a failed write leaves nothing behind.
 */
export class Reservations<T> {
  readonly #byKey = new Map<string, T>()

  /**
   * Reserves a value. Must be called within the transaction. `release` must follow when the transaction has ended, in
   * any case.
   */
  reserve(key: string, value: T): void {
    this.#byKey.set(key, value)
  }

  /** Releases a reservation. A later reservation of the same key stays. */
  release(key: string, value: T): void {
    if (this.#byKey.get(key) === value) this.#byKey.delete(key)
  }

  find(key: string): T | undefined {
    return this.#byKey.get(key)
  }

  /** Returns the committed rows, without those that a reservation replaces, and the reservations. */
  over(committed: Iterable<readonly [string, T]>): T[] {
    if (this.#byKey.size === 0) return Array.from(committed, ([, value]) => value)
    return [...new Map([...committed, ...this.#byKey]).values()]
  }
}
