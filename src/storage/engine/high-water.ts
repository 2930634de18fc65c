import { closeSync, fdatasync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { SHORT_HASH_BYTES, shortHash } from '../../crypto/digest.js'
import { absent, syncDirectory } from './durable-file.js'
import type { Acknowledged } from './engine.js'
import { damagedData } from './level-failure.js'

/**
 * Two places that are written in turns, so that a torn write leaves the one before: a number that counts the writes, the
 * revision and the index, and a hash over them. They lie a page apart.
 */
const SLOT_BYTES = 4096
const FIELDS_BYTES = 24
const RECORD_BYTES = FIELDS_BYTES + SHORT_HASH_BYTES
const SLOTS = [0, 1] as const
const FILE_BYTES = SLOTS.length * SLOT_BYTES

interface HighWaterOptions {
  readonly mayBeNew: boolean
  readonly isDamageTaken?: boolean
}

interface Slot extends Acknowledged {
  readonly turn: number
}

/**
 * A small file that says how far a database had come when that was last acknowledged. LevelDB takes a log that was cut for
 * one whose end was never written; only what lies outside of it can tell that there was more. Whatever is written survives
 * the process at once; it survives power loss from the next `settle` on. So no commit pays for a second sync.
 */
export class HighWater {
  readonly #path: string
  /** Undefined while it is missing, nothing was written, and it is closed. */
  #descriptor: number | undefined
  /** False while it may be shorter than it is to be. */
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
   * Makes the file for a database that may be new. Fails with LogicalError `internal` when it is missing of another one, or
   * neither of its places can be read, unless that is taken for nothing having been acknowledged. A missing one stays so
   * then until something is written: whoever only looks hides nothing from the next to open it.
   */
  static async open(path: string, { mayBeNew, isDamageTaken = false }: HighWaterOptions): Promise<HighWater> {
    const bytes = await readFile(path).catch(absent)
    if (!bytes && mayBeNew) await create(path)
    // Cut short it is by a crash in the moment in which it was made, or by somebody else.
    const isCut = !mayBeNew && (bytes?.length ?? 0) < FILE_BYTES
    const found = findNewest(bytes ?? EMPTY)
    if ((isCut || found === 'unreadable') && !isDamageTaken) {
      const what = bytes ? 'cannot be read' : 'is missing'
      throw damagedData(`the data is damaged: ${path}, which says how far it had come, ${what}`)
    }
    const newest = found === 'unreadable' ? undefined : found
    return new HighWater(path, newest, bytes || mayBeNew ? openSync(path, 'r+') : undefined)
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
    this.#descriptor ??= openSync(this.#path, 'wx+', 0o600)
    if (!this.#isWhole) ftruncateSync(this.#descriptor, FILE_BYTES)
    this.#isWhole = true
    writeSync(this.#descriptor, record, 0, RECORD_BYTES, (this.#turn % SLOTS.length) * SLOT_BYTES)
  }

  /** Resolves when what was written survives power loss. */
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
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(Buffer.alloc(FILE_BYTES))
    await file.sync()
  } finally {
    await file.close()
  }
  await syncDirectory(dirname(path))
}

const EMPTY = Buffer.alloc(0)

/** The sound place that was written last; undefined when none ever was. */
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
