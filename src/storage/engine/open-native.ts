import { Level } from 'level'
import { LogicalError } from '../../logical/errors.js'
import { hasCode, isNoSpace, noSpace, unreadable } from './level-failure.js'
import { FAST_KEY_BYTES, type Native } from './level-native.js'

/** Opens a LevelDB directory. Rejects with `LogicalError` if another process has it open, or if it cannot be read. */
export const openNative = async (directory: string, createIfMissing: boolean): Promise<Native> => {
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
