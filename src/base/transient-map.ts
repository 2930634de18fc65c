/** Minimum number of deleted keys before the map is rebuilt. */
const SPENT_MIN = 512

/**
 * A map for constant insertions and deletions. The built-in `Map` is copied again and again, and each old copy refers
 * to the next one. Once the garbage collector has moved one copy to its old generation, that copy and all later ones
 * stay in memory until the next full collection. Here, a deleted key keeps its slot without a value, and after some
 * deletions the map is rebuilt. Iteration order is unspecified.
 */
export class TransientMap<K extends string | number, V extends object> {
  #places = new Map<K, V | undefined>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: K): V | undefined {
    return this.#places.get(key)
  }

  has(key: K): boolean {
    return this.#places.get(key) !== undefined
  }

  set(key: K, value: V): void {
    if (!this.has(key)) this.#size++
    this.#places.set(key, value)
  }

  delete(key: K): void {
    if (!this.has(key)) return
    this.#places.set(key, undefined)
    this.#size--
    const spent = this.#places.size - this.#size
    if (spent >= SPENT_MIN && spent >= this.#size) this.#places = new Map(this)
  }

  clear(): void {
    this.#places = new Map()
    this.#size = 0
  }

  *[Symbol.iterator](): Generator<[K, V]> {
    for (const [key, value] of this.#places) if (value !== undefined) yield [key, value]
  }
}
