import { crc32c } from '../../crypto/crc32c.js'

/** LevelDB turns and shifts its checksums, since one over bytes that hold their own checksum is weak. */
const MASK_DELTA = 0xa282ead8

/** True when LevelDB would have stored this checksum for these bytes. */
export const isChecksumRight = (masked: number, bytes: Buffer): boolean => {
  const rotated = (masked - MASK_DELTA) >>> 0
  return crc32c(bytes) === ((rotated >>> 17) | (rotated << 15)) >>> 0
}
