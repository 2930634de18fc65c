/** The data types of the SSH protocol (RFC 4251, section 5). */

export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export const uint64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(value)
  return bytes
}

/** Encodes a string: its length and its bytes. */
export const wireString = (value: Buffer | string): Buffer => {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint32(bytes.length), bytes])
}

/** Encodes a positive integer, given as big-endian bytes. */
export const wireInteger = (bytes: Buffer): Buffer => {
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first < 0 ? Buffer.alloc(0) : bytes.subarray(first)
  return wireString((digits[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.alloc(1), digits]) : digits)
}

/** Reads values from a buffer. Throws an error with the text `ssh: short read` after its end. */
export class WireReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  take(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw new Error('ssh: short read')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  uint32(): number {
    return this.take(4).readUInt32BE()
  }

  string(): Buffer {
    return this.take(this.uint32())
  }
}
