/** Mutual exclusion per key, in order of arrival. Idle keys use no memory. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<unknown>>()

  /** Runs `fn` after all earlier calls for `key` have finished. Returns or throws the result of `fn`. */
  async run<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    const before = this.#tails.get(key)
    const mine = (async () => {
      if (before) await before.catch(() => undefined)
      return fn()
    })()
    this.#tails.set(key, mine)
    try {
      return await mine
    } finally {
      if (this.#tails.get(key) === mine) this.#tails.delete(key)
    }
  }
}
