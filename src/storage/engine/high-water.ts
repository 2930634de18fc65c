import { type FileHandle, open } from 'node:fs/promises'
import { writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { SHORT_HASH_BYTES, shortHash } from '../../crypto/digest.js'
import { LogicalError } from '../../logical/errors.js'
import { syncDirectory } from './durable-file.js'
import type { Acknowledged } from './engine.js'

/**
 * Two places that are written in turns, so that a torn write leaves the one before: a number that counts the writes, the
 * revision and the index, and a hash over them. They lie a page apart.
 */
const SLOT_BYTES = 4096
const FIELDS_BYTES = 24
const RECORD_BYTES = FIELDS_BYTES + SHORT_HASH_BYTES
const SLOTS = [0, 1] as const

interface Slot extends Acknowledged {
  readonly turn: number
}

/**
 * A small file that says how far a database had come when that was last acknowledged. LevelDB takes a log that was cut for
 * one whose end was never written; only what lies outside of it can tell that there was more. Whatever is written survives
 * the process at once; it survives power loss from the next `settle` on. So no commit pays for a second sync.
 */
export class HighWater {
  readonly #file: FileHandle
  #turn: number
  #isOpen = true
  #last: Acknowledged | undefined

  private constructor(file: FileHandle, found: Slot | undefined) {
    this.#file = file
    this.#turn = found?.turn ?? 0
    this.#last = found?.revision ? found : undefined
  }

  /**
   * Makes the file where there is none. Fails with LogicalError `internal` when neither of its places can be read, unless
   * that is taken for nothing having been acknowledged.
   */
  static async open(path: string, isDamageTaken = false): Promise<HighWater> {
    const file = await open(path, 'r+', 0o600).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      return create(path)
    })
    try {
      return new HighWater(file, await readSlots(file, path, isDamageTaken))
    } catch (error) {
      await file.close()
      throw error
    }
  }

  get last(): Acknowledged | undefined {
    return this.#last
  }

  /** Undefined forgets what was acknowledged. */
  write(next: Acknowledged | undefined): void {
    this.#turn++
    this.#last = next
    const record = Buffer.alloc(RECORD_BYTES)
    record.writeBigUInt64BE(BigInt(this.#turn), 0)
    // No batch has revision 0 but the one that begins a store.
    record.writeBigUInt64BE(BigInt(next?.revision ?? 0), 8)
    record.writeBigUInt64BE(BigInt(next?.index ?? 0), 16)
    shortHash(record.subarray(0, FIELDS_BYTES)).copy(record, FIELDS_BYTES)
    // Some microseconds: there is always room for it, and nothing is waited for.
    writeSync(this.#file.fd, record, 0, RECORD_BYTES, (this.#turn % SLOTS.length) * SLOT_BYTES)
  }

  /** Resolves when what was written survives power loss. */
  settle(): Promise<void> {
    return this.#file.datasync()
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    await this.#file.close()
  }
}

const create = async (path: string): Promise<FileHandle> => {
  const file = await open(path, 'wx+', 0o600)
  await file.writeFile(Buffer.alloc(SLOTS.length * SLOT_BYTES))
  await file.sync()
  await syncDirectory(dirname(path))
  return file
}

const readSlots = async (file: FileHandle, path: string, isDamageTaken: boolean): Promise<Slot | undefined> => {
  const bytes = Buffer.alloc(SLOTS.length * SLOT_BYTES)
  await file.read(bytes, 0, bytes.length, 0)
  const written = SLOTS.map((slot) => bytes.subarray(slot * SLOT_BYTES, slot * SLOT_BYTES + RECORD_BYTES)).filter(
    (record) => record.some((byte) => byte !== 0),
  )
  const sound = written.filter((record) =>
    shortHash(record.subarray(0, FIELDS_BYTES)).equals(record.subarray(FIELDS_BYTES)),
  )
  if (written.length > 0 && sound.length === 0 && !isDamageTaken) {
    throw new LogicalError('internal', `the data is damaged: ${path}, which says how far it had come, cannot be read`)
  }
  const slots = sound.map((record) => ({
    turn: Number(record.readBigUInt64BE(0)),
    revision: Number(record.readBigUInt64BE(8)),
    index: Number(record.readBigUInt64BE(16)),
  }))
  return slots.sort((a, b) => b.turn - a.turn)[0]
}
