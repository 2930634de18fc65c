/**
 * The last index and the size in bytes of each frame on disk. Two arrays of numbers need less memory than objects:
 * there can be hundreds of thousands of frames.
 */
export class WalExtent {
  #baseIndex = 0
  #ends: number[] = []
  #sizes: number[] = []
  #head = 0
  #bytes = 0

  /** The index after which the log starts. */
  get baseIndex(): number {
    return this.#baseIndex
  }

  get bytes(): number {
    return this.#bytes
  }

  get lastIndex(): number {
    return this.#ends.at(-1) ?? this.#baseIndex
  }

  reset(baseIndex: number): void {
    this.#baseIndex = baseIndex
    this.#ends = []
    this.#sizes = []
    this.#head = 0
    this.#bytes = 0
  }

  push(lastIndex: number, bytes: number): void {
    this.#ends.push(lastIndex)
    this.#sizes.push(bytes)
    this.#bytes += bytes
  }

  /**
   * Returns the last indexes of the oldest frames, at most `countMax`, that must be removed to meet both limits. Never
   * includes the newest frame.
   */
  excess(entriesMax: number, bytesMax: number, countMax: number): number[] {
    const found: number[] = []
    let bytes = this.#bytes
    let base = this.#baseIndex
    for (let at = this.#head; at < this.#ends.length - 1 && found.length < countMax; at++) {
      if (this.lastIndex - base <= entriesMax && bytes <= bytesMax) break
      base = this.#ends[at] ?? base
      bytes -= this.#sizes[at] ?? 0
      found.push(base)
    }
    return found
  }

  /** Returns the number of frames that end at or before an index. */
  countUpTo(index: number): number {
    let count = 0
    while ((this.#ends[this.#head + count] ?? Number.POSITIVE_INFINITY) <= index) count++
    return count
  }

  dropOldest(count: number): void {
    for (let i = 0; i < count; i++) {
      this.#baseIndex = this.#ends[this.#head] ?? this.#baseIndex
      this.#bytes -= this.#sizes[this.#head] ?? 0
      this.#head++
    }
    if (this.#head < 4096 || this.#head * 2 < this.#ends.length) return
    this.#ends = this.#ends.slice(this.#head)
    this.#sizes = this.#sizes.slice(this.#head)
    this.#head = 0
  }

  /** Returns the last indexes of all frames. */
  ends(): number[] {
    return this.#ends.slice(this.#head)
  }
}
