import type { Level } from 'level'
import { LogicalError } from '../../logical/errors.js'
import { hasCode, isNoSpace, noSpace, unreadable } from './level-failure.js'

/** The binding to LevelDB. */
export type Native = Level<string, Buffer>
export type NativeSnapshot = ReturnType<Native['snapshot']>

/**
 * The binding copies keys of point reads into a buffer of its own, and loses the end of a key whose last character does
 * not fit. It is made large enough once; a longer key takes the way through a buffer of ours.
 */
const FAST_KEY_BYTES = 48 * 1024
const FAST_KEY_LENGTH = FAST_KEY_BYTES / 3

/** Fails with a LogicalError that says so when another process has the directory, or it cannot be read. */
export const openNative = async (directory: string, createIfMissing: boolean): Promise<Native> => {
  // Loaded with the first database: most commands need none.
  const { Level } = await import('level')
  const db: Native = new Level<string, Buffer>(directory, { keyEncoding: 'utf8', valueEncoding: 'buffer' })
  try {
    await db.open({ createIfMissing, compression: false, writeBufferSize: 16 * 1024 * 1024 })
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    if (hasCode(cause, 'LEVEL_LOCKED')) {
      throw new LogicalError('unavailable', `the data directory ${directory} is in use by another process`, {
        cause: error,
      })
    }
    if (isNoSpace(error)) throw noSpace(error)
    const reason = cause instanceof Error ? cause.message : String(error)
    throw unreadable(`the data directory ${directory} cannot be opened: ${reason}`, error)
  }
  db.getSync('x'.repeat(FAST_KEY_BYTES))
  return db
}

/** Reads from the database: a value, or a reference to a large one. */
export const getStored = (
  db: Native,
  key: string,
  at: { snapshot: NativeSnapshot } | undefined,
): Buffer | undefined => {
  if (key.length > FAST_KEY_LENGTH) {
    return db.getSync<Buffer, Buffer>(Buffer.from(key), { keyEncoding: 'buffer', ...at })
  }
  return at === undefined ? db.getSync(key) : db.getSync<string, Buffer>(key, at)
}
