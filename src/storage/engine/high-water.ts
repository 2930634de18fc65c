import { closeSync, fdatasync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { SHORT_HASH_BYTES, shortHash } from '../../crypto/digest.js'
import { absent, syncDirectory } from './durable-file.js'
import type { Acknowledged } from './engine.js'
import { damagedData } from './level-failure.js'

/**
 * The file has two slots that are written alternately, so that an incomplete write leaves the previous slot intact. A
 * slot holds a write counter, the revision, the index and a hash over these fields. The slots are one page apart.
 */
const SLOT_BYTES = 4096
const FIELDS_BYTES = 24
const RECORD_BYTES = FIELDS_BYTES + SHORT_HASH_BYTES
const SLOTS = [0, 1] as const
const FILE_BYTES = SLOTS.length * SLOT_BYTES

interface HighWaterOptions {
  readonly mayBeNew: boolean
  readonly isDamageAccepted?: boolean
}

interface Slot extends Acknowledged {
  readonly turn: number
}

/**
 * A small file that records the last acknowledged position of a database. LevelDB cannot distinguish a truncated log
 * from a log whose end was never written, so this record is outside of the database. A write survives a crash of the
 * process immediately, and a power loss after the next `settle`. Commits therefore need no second sync.
 */
export class HighWater {
  readonly #path: string
  /** Undefined before the first write if the file was missing, and after `close`. */
  #descriptor: number | undefined
  /** False if the file may be shorter than its full size. */
  #isWhole = false
  #turn: number
  #last: Acknowledged | undefined

  private constructor(path: string, found: Slot | undefined, descriptor: number | undefined) {
    this.#path = path
    this.#descriptor = descriptor
    this.#turn = found?.turn ?? 0
    this.#last = found?.revision ? found : undefined
  }

  /**
   * Opens the file. With `mayBeNew`, creates a missing file. Otherwise, if the file is missing, truncated or has no
   * valid slot, rejects with `LogicalError` `internal`. `isDamageAccepted` treats such a file as if nothing was
   * acknowledged. In this case only the first write creates a missing file, so that a read-only inspection does not
   * hide the damage.
   */
  static async open(path: string, { mayBeNew, isDamageAccepted = false }: HighWaterOptions): Promise<HighWater> {
    const bytes = await readFile(path).catch(absent)
    if (!bytes && mayBeNew) await create(path)
    // The file is truncated if a crash interrupted its creation, or if another program changed it.
    const isCut = !mayBeNew && (bytes?.length ?? 0) < FILE_BYTES
    const found = findNewest(bytes ?? EMPTY)
    if ((isCut || found === 'unreadable') && !isDamageAccepted) {
      const what = bytes ? 'cannot be read' : 'is missing'
      throw damagedData(`the data is damaged: ${path}, which records the acknowledged position, ${what}`)
    }
    const newest = found === 'unreadable' ? undefined : found
    return new HighWater(path, newest, bytes || mayBeNew ? openSync(path, 'r+') : undefined)
  }

  get last(): Acknowledged | undefined {
    return this.#last
  }

  /** Writes the acknowledged position. Undefined clears it. */
  write(next: Acknowledged | undefined): void {
    this.#turn++
    this.#last = next
    const record = Buffer.alloc(RECORD_BYTES)
    record.writeBigUInt64BE(BigInt(this.#turn), 0)
    // Revision 0 means that nothing is acknowledged. Only the initial state of a store has it, which is never
    // acknowledged.
    record.writeBigUInt64BE(BigInt(next?.revision ?? 0), 8)
    record.writeBigUInt64BE(BigInt(next?.index ?? 0), 16)
    shortHash(record.subarray(0, FIELDS_BYTES)).copy(record, FIELDS_BYTES)
    // The write takes a few microseconds: it is not synced. It works on a full disk, because the file is preallocated.
    this.#descriptor ??= openSync(this.#path, 'wx+', 0o600)
    if (!this.#isWhole) ftruncateSync(this.#descriptor, FILE_BYTES)
    this.#isWhole = true
    writeSync(this.#descriptor, record, 0, RECORD_BYTES, (this.#turn % SLOTS.length) * SLOT_BYTES)
  }

  /** Resolves when the last write survives a power loss. */
  async settle(): Promise<void> {
    if (this.#descriptor !== undefined) await datasync(this.#descriptor)
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }
}

const datasync = promisify(fdatasync)

const create = async (path: string): Promise<void> => {
  {
    await using file = await open(path, 'wx', 0o600)
    await file.writeFile(Buffer.alloc(FILE_BYTES))
    await file.sync()
  }
  await syncDirectory(dirname(path))
}

const EMPTY = Buffer.alloc(0)

/** Returns the newest valid slot, `unreadable` if no written slot is valid, or undefined if no slot was written. */
const findNewest = (bytes: Buffer): Slot | 'unreadable' | undefined => {
  const written = SLOTS.map((slot) => bytes.subarray(slot * SLOT_BYTES, slot * SLOT_BYTES + RECORD_BYTES)).filter(
    (record) => record.some((byte) => byte !== 0),
  )
  const sound = written.filter(
    (record) =>
      record.length === RECORD_BYTES &&
      shortHash(record.subarray(0, FIELDS_BYTES)).equals(record.subarray(FIELDS_BYTES)),
  )
  if (written.length > 0 && sound.length === 0) return 'unreadable'
  const slots = sound.map((record) => ({
    turn: Number(record.readBigUInt64BE(0)),
    revision: Number(record.readBigUInt64BE(8)),
    index: Number(record.readBigUInt64BE(16)),
  }))
  return slots.sort((a, b) => b.turn - a.turn)[0]
}
