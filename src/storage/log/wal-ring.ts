import type { Frame } from '../keys/replicable.js'

/** Cache of the most recent log frames, of at most `bytesMax` in total. */
export class WalRing {
  readonly #bytesMax: number
  /** Frames in log order. A dropped frame is undefined until the array is compacted. */
  #frames: (Frame | undefined)[] = []
  #head = 0
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  get bytesMax(): number {
    return this.#bytesMax
  }

  get length(): number {
    return this.#frames.length - this.#head
  }

  push(frame: Frame): void {
    this.#frames.push(frame)
    this.#bytes += frame.bytes.length
    while (this.#bytes > this.#bytesMax) this.#dropOldest()
  }

  /** Drops the frames that end at or before `index`. */
  trim(index: number): void {
    for (let oldest = this.#frames[this.#head]; oldest !== undefined && oldest.lastIndex <= index; ) {
      this.#dropOldest()
      oldest = this.#frames[this.#head]
    }
  }

  clear(): void {
    this.#frames = []
    this.#head = 0
    this.#bytes = 0
  }

  /** Returns the frame that ends at `index`, or undefined if it is not cached. */
  find(index: number): Frame | undefined {
    const frame = this.#frames[this.#firstAfter(index - 1)]
    return frame?.lastIndex === index ? frame : undefined
  }

  /**
   * Returns frames that end after `index`, of at most `bytesMax` but at least one frame. Returns an empty list if no
   * later frame exists, and undefined if the first of these frames is no longer cached.
   */
  after(index: number, bytesMax: number): Frame[] | undefined {
    const oldest = this.#frames[this.#head]
    if (oldest === undefined || oldest.firstIndex > index + 1) return undefined
    const found: Frame[] = []
    let bytes = 0
    for (let at = this.#firstAfter(index); at < this.#frames.length; at++) {
      const frame = this.#frames[at]
      if (frame === undefined) break
      bytes += frame.bytes.length
      if (found.length > 0 && bytes > bytesMax) break
      found.push(frame)
    }
    return found
  }

  #firstAfter(index: number): number {
    let low = this.#head
    let high = this.#frames.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#frames[middle]?.lastIndex ?? 0) <= index) low = middle + 1
      else high = middle
    }
    return low
  }

  #dropOldest(): void {
    this.#bytes -= this.#frames[this.#head]?.bytes.length ?? 0
    this.#frames[this.#head] = undefined
    this.#head++
    if (this.#head < this.#frames.length && (this.#head < 1024 || this.#head * 2 < this.#frames.length)) return
    this.#frames = this.#frames.slice(this.#head)
    this.#head = 0
  }
}
