import { open, rm, stat, statfs } from 'node:fs/promises'
import { LogicalError } from '../../logical/errors.js'

export const BALLAST_BYTES = 8 * 1024 * 1024
/** Written so much at a time: all of it at once would stay in memory for as long as nothing else asks for any. */
const PIECE_BYTES = 256 * 1024
/** Free bytes without which a full disk does not count as usable again. */
const ROOM_BYTES = 32 * 1024 * 1024

/**
 * A file that takes up room while all is well, so that a full disk can be made to hold the little that opening the
 * database again needs. It is not sparse.
 */
export class Ballast {
  readonly #path: string
  readonly #directory: string

  constructor(directory: string, path: string) {
    this.#directory = directory
    this.#path = path
  }

  /** Throws while too little is free to write on. */
  async requireRoom(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#directory)
    if (bavail * bsize < ROOM_BYTES) {
      throw new LogicalError('unavailable', 'no space left on the storage device: nothing can be written')
    }
  }

  async drop(): Promise<void> {
    await rm(this.#path, { force: true })
  }

  /** Resolves to false, and leaves no part of the file, when there is no room for it. */
  async restore(): Promise<boolean> {
    const found = await stat(this.#path).catch(() => undefined)
    if (found?.size === BALLAST_BYTES) return true
    try {
      const file = await open(this.#path, 'w', 0o600)
      try {
        const piece = Buffer.alloc(PIECE_BYTES, 0x55)
        for (let at = 0; at < BALLAST_BYTES; at += PIECE_BYTES) await file.writeFile(piece)
        await file.sync()
      } finally {
        await file.close()
      }
      return true
    } catch {
      await this.drop()
      return false
    }
  }
}
