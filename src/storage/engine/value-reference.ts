/**
 * Start of a reference, which the database stores in place of a large value. The file number and the size of the value
 * follow. A small value that has the form of a reference is stored in a file too, so that it is not read as a
 * reference.
 */
const MARK = Buffer.from('c4a1f3e2967d4b58a90e57d2186bcf03', 'hex')
const REFERENCE_BYTES = MARK.length + 16

export interface Reference {
  readonly number: number
  readonly bytes: number
}

export const makeReference = ({ number, bytes }: Reference): Buffer => {
  const reference = Buffer.alloc(REFERENCE_BYTES)
  MARK.copy(reference)
  reference.writeUIntBE(number, MARK.length + 2, 6)
  reference.writeUIntBE(bytes, MARK.length + 10, 6)
  return reference
}

export const isReference = (stored: Buffer): boolean =>
  stored.length === REFERENCE_BYTES && stored.compare(MARK, 0, MARK.length, 0, MARK.length) === 0

export const parseReference = (stored: Buffer | undefined): Reference | undefined =>
  stored && isReference(stored)
    ? { number: stored.readUIntBE(MARK.length + 2, 6), bytes: stored.readUIntBE(MARK.length + 10, 6) }
    : undefined

/** Returns the file name of a value. */
export const nameOf = (number: number): string => `${String(number).padStart(6, '0')}.value`

/** Returns the number in a file name of `nameOf`, or undefined. A number has at most 14 digits in a reference. */
export const numberOf = (name: string): number | undefined => {
  const digits = /^(\d{6}|[1-9]\d{6,13})\.value$/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
