/**
 * Remembers at least the `capacity` keys used last and at most twice as many. A value that is asked for moves to the
 * young half; when that is full, the old half is dropped. No list has to be kept in order.
 *
 * A key that is deleted keeps its place without a value: a map whose keys come and go is copied time and again, and what is
 * left of each copy keeps all that it held until the next collection of the whole heap.
 */
export class RecentCache<V> {
  #young = new Map<string, V | undefined>()
  #old = new Map<string, V | undefined>()
  readonly #capacity: number

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get(key: string): V | undefined {
    const value = this.#young.get(key)
    if (value !== undefined) return value
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#capacity) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }

  delete(key: string): void {
    if (this.#young.has(key)) this.#young.set(key, undefined)
    if (this.#old.has(key)) this.#old.set(key, undefined)
  }

  clear(): void {
    this.#young = new Map()
    this.#old = new Map()
  }
}
