/**
 * The values that uncommitted transactions will store. Later transactions check them, so that two transactions never
 * claim the same resource. Readers see only committed data, and a failed write leaves no data.
 */
export class Reservations<T> {
  readonly #byKey = new Map<string, T>()

  /**
   * Reserves a value. Must be called inside the transaction. The caller must call `release` when the transaction has
   * succeeded or failed.
   */
  reserve(key: string, value: T): void {
    this.#byKey.set(key, value)
  }

  /** Releases a reservation. Keeps a later reservation of the same key. */
  release(key: string, value: T): void {
    if (this.#byKey.get(key) === value) this.#byKey.delete(key)
  }

  find(key: string): T | undefined {
    return this.#byKey.get(key)
  }

  /** Returns the committed values, with each reserved value in place of the committed value of its key. */
  over(committed: Iterable<readonly [string, T]>): T[] {
    if (this.#byKey.size === 0) return Array.from(committed, ([, value]) => value)
    return [...new Map([...committed, ...this.#byKey]).values()]
  }
}
