import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { LIMITS } from './limits.js'

/** What the caller itself hands on, such as `<(command)` of a shell: a pipe, of which reading ends. */
const INHERITED = /^\/(?:dev\/(?:stdin|fd\/\d+)|proc\/self\/fd\/\d+)$/

const PIECE_BYTES = 64 * 1024

/**
 * Reads a file that a person or a configuration named. Throws the error of the system, or one that says that it is no
 * regular file (a pipe or a device may never end), or larger than `bytesMax`.
 */
export const readNamedFile = (file: string, bytesMax: number = LIMITS.namedFileBytesMax): Buffer =>
  readBounded(file, bytesMax, INHERITED.test(file))

/** Reads a file that a directory lists, such as `/dev` its `stdin`: a pipe is refused in any case. Throws as `readNamedFile`. */
export const readListedText = (file: string): string =>
  readBounded(file, LIMITS.namedFileBytesMax, false).toString('utf8')

/** Whether the file is one that `readNamedFile` itself refuses, for its kind or its size. */
export const isUnfitFile = (error: unknown): error is Error => error instanceof UnfitFile

class UnfitFile extends Error {
  override readonly name = 'UnfitFile'
}

const readBounded = (file: string, bytesMax: number, isInherited: boolean): Buffer => {
  // Opening a named pipe would wait for its other end.
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
