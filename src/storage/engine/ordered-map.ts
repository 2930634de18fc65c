/**
 * Maximum number of keys in a leaf of `OrderedMap`, an ordered map from strings to bytes. `frozen` copies only the
 * array of leaves. A leaf is copied on its first change after a freeze. Measured alternative: sorted-btree 2.1 with
 * 200,000 keys reads and writes 20% faster, and needs half the time for a write after a freeze, but three times as long
 * for a scan. In addition, its default import is an object in Node and the class in a bundler.
 */
const LEAF_KEYS_MAX = 256

interface Leaf {
  /** Number of freezes before the leaf was created. A change after a later freeze copies the leaf first. */
  readonly freeze: number
  readonly keys: string[]
  readonly values: Buffer[]
}

/** An immutable state of the map. */
export type FrozenLeaves = readonly Leaf[]

/** Compares keys in UTF-8 byte order. UTF-16 order differs only between surrogates and the code units above them. */
export const compareKeys = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return liftSurrogate(x) - liftSurrogate(y)
  }
  return a.length - b.length
}

const liftSurrogate = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)

/** Returns the first position in a sorted array whose key is not less than `key`. */
export const lowerBound = (keys: readonly string[], key: string): number => {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareKeys(keys[middle] ?? '', key) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns the position of the leaf that contains `key`, or into which `key` would be inserted. */
export const leafOf = (leaves: FrozenLeaves, key: string): number => {
  let low = 0
  let high = leaves.length - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (compareKeys(leaves[middle]?.keys[0] ?? '', key) <= 0) low = middle
    else high = middle - 1
  }
  return low
}

export const findIn = (leaves: FrozenLeaves, key: string): Buffer | undefined => {
  const leaf = leaves[leafOf(leaves, key)]
  if (leaf === undefined) return undefined
  const at = lowerBound(leaf.keys, key)
  return leaf.keys[at] === key ? leaf.values[at] : undefined
}

export class OrderedMap {
  #freeze = 0
  #leaves: Leaf[] = []
  #bytes = 0

  /** Total bytes of all values. */
  get bytes(): number {
    return this.#bytes
  }

  get(key: string): Buffer | undefined {
    return findIn(this.#leaves, key)
  }

  frozen(): FrozenLeaves {
    this.#freeze++
    return this.#leaves.slice()
  }

  set(key: string, value: Buffer): void {
    const index = leafOf(this.#leaves, key)
    const leaf = this.#writable(index)
    const at = lowerBound(leaf.keys, key)
    this.#bytes += value.length
    if (leaf.keys[at] === key) {
      this.#bytes -= leaf.values[at]?.length ?? 0
      leaf.values[at] = value
      return
    }
    leaf.keys.splice(at, 0, key)
    leaf.values.splice(at, 0, value)
    if (leaf.keys.length > LEAF_KEYS_MAX) this.#split(index, leaf)
  }

  delete(key: string): void {
    const index = leafOf(this.#leaves, key)
    if (this.#leaves[index] === undefined) return
    const leaf = this.#writable(index)
    const at = lowerBound(leaf.keys, key)
    if (leaf.keys[at] !== key) return
    this.#bytes -= leaf.values[at]?.length ?? 0
    leaf.keys.splice(at, 1)
    leaf.values.splice(at, 1)
    if (leaf.keys.length === 0) this.#leaves.splice(index, 1)
  }

  #writable(index: number): Leaf {
    const found = this.#leaves[index]
    if (found !== undefined && found.freeze === this.#freeze) return found
    const copy: Leaf = { freeze: this.#freeze, keys: found?.keys.slice() ?? [], values: found?.values.slice() ?? [] }
    this.#leaves[index] = copy
    return copy
  }

  #split(index: number, leaf: Leaf): void {
    const half = leaf.keys.length >>> 1
    this.#leaves.splice(index + 1, 0, {
      freeze: this.#freeze,
      keys: leaf.keys.splice(half),
      values: leaf.values.splice(half),
    })
  }
}
