import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { LIMITS } from './limits.js'

/** Matches a pipe from the calling shell, such as `<(command)`. Such a pipe has an end. */
const INHERITED = /^\/(?:dev\/(?:stdin|fd\/\d+)|proc\/self\/fd\/\d+)$/

const PIECE_BYTES = 64 * 1024

/**
 * Reads a file that a user or a configuration names. Throws a system error, or an error if the file is larger than
 * `bytesMax` or is not a regular file: a pipe or a device may have no end.
 */
export const readNamedFile = (file: string, bytesMax: number = LIMITS.namedFileBytesMax): Buffer =>
  readBounded(file, bytesMax, INHERITED.test(file))

/**
 * Reads a file from a directory listing. Throws like `readNamedFile`, but also for every pipe, because a directory may
 * contain a link to `/dev/stdin`.
 */
export const readListedText = (file: string): string =>
  readBounded(file, LIMITS.namedFileBytesMax, false).toString('utf8')

/** Returns whether `readNamedFile` rejected a file because of its kind or size. */
export const isUnfitFile = (error: unknown): error is Error => error instanceof UnfitFile

class UnfitFile extends Error {
  override readonly name = 'UnfitFile'
}

const readBounded = (file: string, bytesMax: number, isInherited: boolean): Buffer => {
  // Without O_NONBLOCK, opening a named pipe would block until its other end is opened.
  const descriptor = openSync(file, isInherited ? constants.O_RDONLY : constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = fstatSync(descriptor)
    if (!found.isFile() && !found.isDirectory() && !isInherited) throw new UnfitFile(`${file} is not a regular file`)
    const pieces: Buffer[] = []
    for (let bytes = 0; bytes <= bytesMax; ) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, bytesMax + 1 - bytes))
      const count = readSync(descriptor, piece)
      if (count === 0) return Buffer.concat(pieces)
      pieces.push(piece.subarray(0, count))
      bytes += count
    }
    throw new UnfitFile(`${file} is too large: the limit is ${bytesMax} bytes`)
  } finally {
    closeSync(descriptor)
  }
}

export const readNamedText = (file: string, bytesMax?: number): string => readNamedFile(file, bytesMax).toString('utf8')
