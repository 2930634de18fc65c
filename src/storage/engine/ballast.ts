import { open, rm, stat, statfs } from 'node:fs/promises'
import { LogicalError } from '../../logical/errors.js'

export const BALLAST_BYTES = 8 * 1024 * 1024
/** Bytes of each write. A single large write would keep its memory allocated. */
const PIECE_BYTES = 256 * 1024
/** Free bytes that a disk must have before the storage accepts writes again. */
const FREE_BYTES_MIN = 32 * 1024 * 1024

/**
 * A file that reserves disk space. If the disk is full, deleting this file frees the space that LevelDB needs to reopen
 * the database. The file is not sparse.
 */
export class Ballast {
  readonly #path: string
  readonly #directory: string

  constructor(directory: string, path: string) {
    this.#directory = directory
    this.#path = path
  }

  /** Rejects with `LogicalError` `unavailable` if the disk has less than 32 MiB of free space. */
  async requireFreeSpace(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#directory)
    if (bavail * bsize < FREE_BYTES_MIN) {
      throw new LogicalError('unavailable', 'no space left on the storage device: nothing can be written')
    }
  }

  async drop(): Promise<void> {
    await rm(this.#path, { force: true })
  }

  /** Recreates the file. If this fails, for example for lack of space, leaves no partial file and resolves to false. */
  async restore(): Promise<boolean> {
    const found = await stat(this.#path).catch(() => undefined)
    if (found?.size === BALLAST_BYTES) return true
    try {
      await using file = await open(this.#path, 'w', 0o600)
      const piece = Buffer.alloc(PIECE_BYTES, 0x55)
      for (let at = 0; at < BALLAST_BYTES; at += PIECE_BYTES) await file.writeFile(piece)
      await file.sync()
      return true
    } catch {
      await this.drop()
      return false
    }
  }
}
