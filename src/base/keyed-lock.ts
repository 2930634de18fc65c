/** Mutual exclusion per key, first come first served. Holds no memory for idle keys. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<unknown>>()

  /** Runs `fn` when everybody who asked for `key` before has finished; returns or throws what `fn` does. */
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
