import { constants, lstatSync, type Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/**
 * Flags for files that another program may have replaced: opening a named pipe can block forever, and a device has no
 * end. The code first checks the entry. In case the entry changes after the check, these flags open it without blocking
 * and without following links.
 */
export const READ_REGULAR = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW

/**
 * Returns the kind of an entry that is not a regular file; undefined for a regular file. A link counts as a file,
 * regardless of its target.
 */
export const findKind = (path: string): string | undefined => {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found ? kindOf(found) : 'missing'
}

const kindOf = (found: Stats): string | undefined => {
  if (found.isFile()) return undefined
  if (found.isDirectory()) return 'a directory'
  if (found.isSymbolicLink()) return 'a symbolic link'
  if (found.isFIFO()) return 'a named pipe'
  return found.isSocket() ? 'a socket' : 'a device'
}

/**
 * Opens a regular file. Returns undefined if there is none or the entry is not a regular file; rethrows other errors.
 */
export const openRegular = async (path: string): Promise<FileHandle | undefined> =>
  findKind(path) === undefined ? open(path, READ_REGULAR) : undefined

/** Reads a whole file, and follows links. Returns undefined if it is missing, not a file, or unreadable. */
export const readBehind = async (path: string): Promise<Buffer | undefined> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined)
  try {
    return (await file?.stat())?.isFile() ? await file?.readFile() : undefined
  } catch {
    return undefined
  } finally {
    await file?.close()
  }
}
