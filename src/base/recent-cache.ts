/**
 * A cache that keeps at least the `capacity` most recently used keys, and at most twice as many. A value that is read
 * moves to the young generation. When the young generation is full, it becomes the old generation, and the previous old
 * generation is dropped.
 *
 * A deleted key keeps its slot without a value. With constant insertions and deletions, the engine would copy the map
 * again and again, and each old copy would stay in memory until the next full garbage collection.
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
