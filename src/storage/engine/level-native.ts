import type { Level } from 'level'

/** The binding to LevelDB. */
export type Native = Level<string, Buffer>
export type NativeSnapshot = ReturnType<Native['snapshot']>

/**
 * The binding copies keys of point reads into a fixed buffer, and loses the end of a key whose last character does not
 * fit. The buffer is allocated large enough once; longer keys use a separate buffer.
 */
export const FAST_KEY_BYTES = 48 * 1024
const FAST_KEY_LENGTH = FAST_KEY_BYTES / 3

/** Reads a value, or a reference to a large value, from the database. */
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
