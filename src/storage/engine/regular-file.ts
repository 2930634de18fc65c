import { constants, lstatSync, type Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/**
 * Files that somebody else may have replaced: opening a named pipe waits for its other end, for ever, and a device never ends.
 * So what is there is looked at first, and opened without waiting and without following a link in case it changes meanwhile.
 */
export const READ_REGULAR = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW

/** The name of whatever is in the place of a file; undefined when it is one. A link is a file, whatever it leads to. */
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

/** Undefined when it is no file, or there is none; whatever else fails is thrown. */
export const openRegular = async (path: string): Promise<FileHandle | undefined> =>
  findKind(path) === undefined ? open(path, READ_REGULAR) : undefined

/** The whole file behind a name or a link. Undefined when there is none, when it is no file, or it cannot be read. */
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
