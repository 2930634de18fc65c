/** The bytes at the end of a message head and of a chunked body. */
const BLANK_LINE = Buffer.from('\r\n\r\n')

/**
 * Returns the index after the first blank line; undefined if the chunk does not contain its end. `matched` is the
 * number of bytes of a blank line at the end of the previous chunk.
 */
export const findEnd = (chunk: Buffer, matched: number): number | undefined => {
  if (matched > 0) {
    const seam = Buffer.concat([BLANK_LINE.subarray(0, matched), chunk.subarray(0, BLANK_LINE.length)])
    const at = seam.indexOf(BLANK_LINE)
    if (at >= 0 && at < matched) return at + BLANK_LINE.length - matched
  }
  const at = chunk.indexOf(BLANK_LINE)
  return at < 0 ? undefined : at + BLANK_LINE.length
}

/** Returns the number of bytes of a blank line at the end of the data up to and including this chunk. */
export const matchedAtEnd = (chunk: Buffer, matched: number): number => {
  const tail =
    chunk.length >= BLANK_LINE.length
      ? chunk.subarray(chunk.length - BLANK_LINE.length)
      : Buffer.concat([BLANK_LINE.subarray(0, matched), chunk])
  for (let size = Math.min(BLANK_LINE.length - 1, tail.length); size > 0; size--) {
    if (tail.subarray(tail.length - size).equals(BLANK_LINE.subarray(0, size))) return size
  }
  return 0
}
