/**
 * CRC-32C (Castagnoli), the checksum of LevelDB files. The implementation handles eight bytes per step with eight
 * tables. `node:zlib` has only CRC-32.
 */
const POLYNOMIAL = 0x82f63b78
const TABLES = 8
const TABLE_BYTES = 256 * 4

const makeTables = (): DataView => {
  const tables = new DataView(new ArrayBuffer(TABLES * TABLE_BYTES))
  for (let n = 0; n < 256; n++) {
    let crc = n
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
    tables.setInt32(n * 4, crc, true)
  }
  for (let at = TABLE_BYTES; at < TABLES * TABLE_BYTES; at += 4) {
    const before = tables.getInt32(at - TABLE_BYTES, true)
    tables.setInt32(at, (before >>> 8) ^ tables.getInt32((before & 0xff) * 4, true), true)
  }
  return tables
}

const TABLE = makeTables()

const entry = (table: number, byte: number): number => TABLE.getInt32(table * TABLE_BYTES + (byte & 0xff) * 4, true)

const crc32c = (data: Buffer): number => {
  const bytes = new DataView(data.buffer, data.byteOffset, data.length)
  let crc = -1
  let at = 0
  for (const end = data.length - 7; at < end; at += 8) {
    const low = crc ^ bytes.getInt32(at, true)
    const high = bytes.getInt32(at + 4, true)
    const front = entry(7, low) ^ entry(6, low >>> 8) ^ entry(5, low >>> 16) ^ entry(4, low >>> 24)
    crc = front ^ entry(3, high) ^ entry(2, high >>> 8) ^ entry(1, high >>> 16) ^ entry(0, high >>> 24)
  }
  for (; at < data.length; at++) crc = (crc >>> 8) ^ entry(0, crc ^ bytes.getUint8(at))
  return (crc ^ -1) >>> 0
}

/** LevelDB rotates each checksum and adds this number, because a CRC over data that contains CRCs is weak. */
const MASK_DELTA = 0xa282ead8

/** Returns true if `masked`, a checksum as LevelDB stores it, matches the bytes. */
export const isChecksumRight = (masked: number, bytes: Buffer): boolean => {
  const rotated = (masked - MASK_DELTA) >>> 0
  return crc32c(bytes) === ((rotated >>> 17) | (rotated << 15)) >>> 0
}
