import { constants, lstatSync, type Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/**
 * Flags to open a file that another program may have replaced: opening a named pipe can block forever, and reading a
 * device may never end. Callers first check the kind of the entry. If the entry changes after this check, the flags
 * prevent blocking and following links.
 */
export const READ_REGULAR = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW

/**
 * Returns the kind of an entry that is not a regular file, `missing` if there is no entry, or undefined for a regular
 * file. Does not follow links: a symbolic link is not a regular file.
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

/** Opens a regular file. Resolves to undefined if the entry is missing or not a regular file. */
export const openRegular = async (path: string): Promise<FileHandle | undefined> =>
  findKind(path) === undefined ? open(path, READ_REGULAR) : undefined

/** Reads a whole file, and follows links. Resolves to undefined if the entry is missing, not a file, or unreadable. */
export const readFollowingLinks = async (path: string): Promise<Buffer | undefined> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined)
  try {
    return (await file?.stat())?.isFile() ? await file?.readFile() : undefined
  } catch {
    return undefined
  } finally {
    await file?.close()
  }
}
