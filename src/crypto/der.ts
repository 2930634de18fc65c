/** Reads and writes the small DER structures that the certificate library does not support. */

export interface DerItem {
  readonly tag: number
  readonly content: Buffer
}

/** Returns one element, whose content is the concatenation of the parts. */
export const encodeDer = (tag: number, parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content])
}

const lengthOf = (length: number): Buffer => {
  if (length < 0x80) return Buffer.from([length])
  const digits = bytesOf(length)
  return Buffer.concat([Buffer.from([0x80 | digits.length]), digits])
}

/** Returns a number of 0 to 2^53 in as few bytes as possible, and at least one. */
const bytesOf = (value: number): Buffer => {
  const hex = value.toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
}

/** Returns an INTEGER from its absolute value, the bytes of a number of 0 or more. */
export const encodeInteger = (value: number | Buffer): Buffer => {
  const bytes = typeof value === 'number' ? bytesOf(value) : value
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first < 0 ? Buffer.alloc(1) : bytes.subarray(first)
  return encodeDer(0x02, (digits[0] ?? 0) > 0x7f ? [Buffer.alloc(1), digits] : [digits])
}

/** Returns the elements, one after the other. Throws for bytes that are not DER with tags of one byte. */
export const readDer = (bytes: Buffer): DerItem[] => {
  const items: DerItem[] = []
  for (let at = 0; at < bytes.length; ) {
    const [tag, first] = [bytes[at] ?? 0, bytes[at + 1]]
    if (first === undefined || (tag & 0x1f) === 0x1f) throw new Error('malformed DER')
    const digits = first < 0x80 ? 0 : first & 0x7f
    if (digits > 4 || first === 0x80) throw new Error('malformed DER')
    const length = digits === 0 ? first : bytes.readUIntBE(at + 2, digits)
    // A length has only one encoding.
    if (digits > 0 && (length < 0x80 || bytes[at + 2] === 0)) throw new Error('malformed DER')
    const start = at + 2 + digits
    at = start + length
    if (at > bytes.length) throw new Error('malformed DER')
    items.push({ tag, content: bytes.subarray(start, at) })
  }
  return items
}

/** Returns the elements within a single element. Throws for any other bytes. */
export const readDerSequence = (bytes: Buffer): DerItem[] => {
  const [outer, ...more] = readDer(bytes)
  if (!outer || more.length > 0 || outer.tag !== 0x30) throw new Error('malformed DER')
  return readDer(outer.content)
}

/** Returns an OBJECT IDENTIFIER from its dotted form, which must be valid. */
export const encodeOid = (oid: string): Buffer => {
  const [first = 0n, second = 0n, ...rest] = oid.split('.').map(BigInt)
  return encodeDer(0x06, [first * 40n + second, ...rest].map(base128))
}

const base128 = (arc: bigint): Buffer => {
  const digits = [Number(arc & 0x7fn)]
  for (let left = arc >> 7n; left > 0n; left >>= 7n) digits.unshift(Number(left & 0x7fn) | 0x80)
  return Buffer.from(digits)
}

/** Returns the dotted form of the content of an OBJECT IDENTIFIER. */
export const decodeOid = (content: Buffer): string => {
  const arcs: bigint[] = []
  let arc = 0n
  for (const byte of content) {
    arc = (arc << 7n) | BigInt(byte & 0x7f)
    if (byte & 0x80) continue
    arcs.push(arc)
    arc = 0n
  }
  const [first = 0n, ...rest] = arcs
  const top = first < 80n ? first / 40n : 2n
  return [top, first - top * 40n, ...rest].join('.')
}
