/** A LevelDB block handle: offset and size in a file, in bytes. */
export interface Handle {
  readonly offset: number
  readonly size: number
}

/** Reads LevelDB's varints and length-prefixed bytes. */
export class Cursor {
  readonly #bytes: Buffer
  position = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.position >= this.#bytes.length
  }

  varint(): number | undefined {
    let value = 0
    for (let factor = 1; factor <= 2 ** 49; factor *= 128) {
      const byte = this.#bytes[this.position++]
      if (byte === undefined) return undefined
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
    }
    return undefined
  }

  handle(): Handle | undefined {
    const offset = this.varint()
    const size = this.varint()
    return offset === undefined || size === undefined ? undefined : { offset, size }
  }

  /** Skips length-prefixed bytes. Returns their number, or undefined if the input ends first. */
  skipBytes(): number | undefined {
    const length = this.varint()
    if (length === undefined || this.position + length > this.#bytes.length) return undefined
    this.position += length
    return length
  }
}
