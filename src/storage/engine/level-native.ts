import type { Level } from 'level'

/** The binding to LevelDB. */
export type Native = Level<string, Buffer>
export type NativeSnapshot = ReturnType<Native['snapshot']>

/**
 * Size in bytes of the buffer into which the binding copies the key of a point read. If the last character of a key
 * does not fit, the binding cuts off the end of the key. `openNative` makes the binding allocate the buffer with this
 * size. Reads of longer keys pass their own buffer.
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
