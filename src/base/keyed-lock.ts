/** Runs functions with the same key one after the other, in the order of the calls. Unused keys take no memory. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<unknown>>()

  /** Runs `fn` after all earlier calls for `key` have ended. Settles like `fn`. */
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
