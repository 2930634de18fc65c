/** So many places of deleted keys are kept at least before the map is made anew. */
const SPENT_MIN = 512

/**
 * A map whose keys come and go all the time. The platform's own is copied again and again by that, and each copy that is left
 * refers to the next one: once the garbage collector has moved one of them to its old generation, that and all which come
 * after it stay, with what they held, until the next collection of the whole heap. Here a deleted key keeps its place
 * without a value, and after some of those the map is made anew, to which no old one refers. In no certain order.
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
