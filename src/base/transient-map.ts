/** The minimum number of deleted keys before the map is rebuilt. */
const DELETED_MIN = 512

/**
 * A map for constant insertions and deletions. The engine copies a built-in `Map` again and again, and each old copy
 * refers to the next copy. Once the garbage collector has moved one copy to its old generation, this copy and all later
 * copies stay in memory until the next full collection. In this class, a deleted key keeps its slot without a value,
 * and after many deletions the map is rebuilt. The order of iteration is unspecified.
 */
export class TransientMap<K extends string | number, V extends object> {
  #slots = new Map<K, V | undefined>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: K): V | undefined {
    return this.#slots.get(key)
  }

  has(key: K): boolean {
    return this.#slots.get(key) !== undefined
  }

  set(key: K, value: V): void {
    if (!this.has(key)) this.#size++
    this.#slots.set(key, value)
  }

  delete(key: K): void {
    if (!this.has(key)) return
    this.#slots.set(key, undefined)
    this.#size--
    const deleted = this.#slots.size - this.#size
    if (deleted >= DELETED_MIN && deleted >= this.#size) this.#slots = new Map(this)
  }

  clear(): void {
    this.#slots = new Map()
    this.#size = 0
  }

  *[Symbol.iterator](): Generator<[K, V]> {
    for (const [key, value] of this.#slots) if (value !== undefined) yield [key, value]
  }
}
