import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { LogicalError } from '../../logical/errors.js'
import { syncDirectory } from './durable-file.js'
import type { Entry } from './engine.js'
import { findKind } from './regular-file.js'
import { isValueFileSound, readKeyOf, readValue, readValueInTurns, writeValueFile } from './value-file.js'
import { isReference, makeReference, nameOf, numberOf, parseReference, type Reference } from './value-reference.js'

/** From this size on a value lies in a file of its own. */
export const LARGE_VALUE_BYTES = 1024 * 1024

const EMPTY = Buffer.alloc(0)

/** A large value that a batch will write. */
export interface PlacedValue {
  readonly number: number
  readonly value: Buffer
}

interface LargeValuesOptions {
  readonly directory: string
  /** Reads from the database: a value, or a reference. */
  readonly find: (key: string) => Buffer | undefined
  /** Reads values and references of all keys. */
  readonly all: () => AsyncIterable<readonly [string, Buffer]>
  /** True reads what is there of a value whose file is damaged. */
  readonly isDamageTaken: boolean
}

/**
 * The large values of a database, each in a file beside it: in the database itself one would be copied into the log, into
 * memory, and anew with each compaction, and would stay mapped into memory once it was read. A file is on disk before the
 * batch that refers to it is written, is never changed, and goes when nothing that can be read, or can come back after a
 * loss of power, refers to it any more.
 */
export class LargeValues {
  readonly #options: LargeValuesOptions
  /** Numbers of the files that the newest state of the database refers to, by key. */
  readonly #live = new Map<string, number>()
  #next = 1
  #isClosed = false
  /** Snapshots and scans that may see what has been replaced. */
  #readers = 0
  /** Replaced by batches that may be lost with the power. */
  #replaced: number[] = []
  /** Replaced for good. */
  #unused: number[] = []
  /** Something refers to them, and they are gone, or it cannot be told from them whose values they are. */
  #lost: readonly number[] = []
  readonly #removals = new Set<Promise<void>>()

  private constructor(options: LargeValuesOptions) {
    this.#options = options
  }

  /** Finds the files that are referred to, and removes those that a crash has left without a reference. */
  static async open(options: LargeValuesOptions): Promise<LargeValues> {
    const values = new LargeValues(options)
    const strays: number[] = []
    let isJudged = false
    for (const entry of await readdir(options.directory, { withFileTypes: true })) {
      const number = numberOf(entry.name)
      if (number === undefined) continue
      values.#next = Math.max(values.#next, number + 1)
      // An entry that is no file is none of ours, but may be in the place of one.
      if (!entry.isFile()) isJudged = true
      else if (!(await values.#find(number))) strays.push(number)
    }
    if (isJudged || strays.length > 0) await values.#judge(strays)
    return values
  }

  /** Whether a value is to be kept as a file. */
  takes(value: Buffer): boolean {
    return value.length >= LARGE_VALUE_BYTES || isReference(value)
  }

  /** Where a value will be; nothing is written yet. */
  place(value: Buffer): { readonly placed: PlacedValue; readonly reference: Buffer } {
    const number = this.#next++
    return { placed: { number, value }, reference: makeReference({ number, bytes: value.length }) }
  }

  /**
   * Makes values durable, in turns of the event loop. What was written is removed again when it fails. Once these are closed
   * others may have given the same numbers to theirs.
   */
  async write(values: ReadonlyMap<string, PlacedValue>): Promise<void> {
    try {
      for (const [key, { number, value }] of values) {
        this.#requireOpen()
        await writeValueFile(this.#path(number), key, value)
      }
      await syncDirectory(this.#options.directory)
    } catch (error) {
      if (!this.#isClosed) for (const { number } of values.values()) this.#remove(number)
      throw error
    }
  }

  /** A batch was written: it has changed these keys, and holds these large values. */
  note(keys: readonly string[], values: ReadonlyMap<string, PlacedValue>, isDurable: boolean): void {
    if (this.#live.size > 0) {
      for (const key of keys) {
        const number = this.#live.get(key)
        if (number === undefined) continue
        this.#replaced.push(number)
        this.#live.delete(key)
      }
    }
    for (const [key, { number }] of values) this.#live.set(key, number)
    if (!isDurable || this.#replaced.length === 0) return
    this.#unused.push(...this.#replaced)
    this.#replaced = []
    this.#sweep()
  }

  /** Pins the files: until the result is called nothing is removed. */
  pin(): () => void {
    this.#readers++
    let isPinned = true
    return () => {
      if (!isPinned) return
      isPinned = false
      this.#readers--
      this.#sweep()
    }
  }

  /** The value that the database means by what it holds. Throws LogicalError `internal` for one whose file is damaged. */
  resolve(key: string, stored: Buffer): Buffer {
    const reference = parseReference(stored)
    if (!reference) return stored
    const path = this.#path(reference.number)
    return readValue(path, key, reference.bytes) ?? this.#replaceDamaged(path)
  }

  async #read(key: string, { number, bytes }: Reference): Promise<Buffer> {
    const path = this.#path(number)
    return (await readValueInTurns(path, key, bytes)) ?? this.#replaceDamaged(path)
  }

  #replaceDamaged(path: string): Buffer {
    if (this.#options.isDamageTaken) return EMPTY
    throw new LogicalError('internal', `the data is damaged: ${describe(path, path)} is not as it was written`)
  }

  /** Replaces references by values in chunks of about so many bytes. Others get their turn while values are read. */
  async *chunks(entries: readonly Entry[], chunkBytes: number): AsyncGenerator<readonly Entry[]> {
    if (!entries.some(({ value }) => isReference(value))) return yield entries
    let chunk: Entry[] = []
    let bytes = 0
    for (const { key, value: stored } of entries) {
      const reference = parseReference(stored)
      const value = reference ? await this.#read(key, reference) : stored
      chunk.push({ key, value })
      bytes += value.length
      if (bytes < chunkBytes) continue
      yield chunk
      chunk = []
      bytes = 0
    }
    if (chunk.length > 0) yield chunk
  }

  /** Names of the files that are not as they were written. */
  async findDamage(): Promise<string[]> {
    const damaged = this.#lost.map((number) => this.#describe(number))
    for (const [key, number] of [...this.#live]) {
      const isSound = await isValueFileSound(this.#path(number))
      if (!isSound && this.#live.get(key) === number) damaged.push(this.#describe(number))
    }
    return damaged
  }

  /** Keys whose values cannot be read, with the names of the files. Reads everything; nothing is to be written meanwhile. */
  async findUnreadable(): Promise<ReadonlyMap<string, string>> {
    const unreadable = new Map<string, string>()
    for await (const [key, stored] of this.#options.all()) {
      const number = parseReference(stored)?.number
      if (number === undefined) continue
      const path = this.#path(number)
      const isSound = (await isValueFileSound(path)) && (await readKeyOf(path)) === key
      if (!isSound) unreadable.set(key, this.#describe(number))
    }
    return unreadable
  }

  /** Resolves when nothing is being removed, and nothing will be. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#removals)
  }

  /** Whether the database refers to a file under the key that the file names. */
  async #find(number: number): Promise<boolean> {
    const key = await readKeyOf(this.#path(number))
    if (key === undefined || parseReference(this.#options.find(key))?.number !== number) return false
    this.#live.set(key, number)
    return true
  }

  /**
   * Files that no key of theirs refers to belong to nothing. Where a file is missing that something refers to, they stay:
   * what is in one of them may be what was there.
   */
  async #judge(strays: readonly number[]): Promise<void> {
    const referred = new Set<number>()
    for await (const [, stored] of this.#options.all()) {
      const reference = parseReference(stored)
      if (reference) referred.add(reference.number)
    }
    for (const number of this.#live.values()) referred.delete(number)
    this.#lost = [...referred].sort((a, b) => a - b)
    if (this.#lost.length === 0) for (const number of strays) this.#remove(number)
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new LogicalError('unavailable', 'the storage was opened again')
  }

  #sweep(): void {
    if (this.#isClosed || this.#readers > 0) return
    for (const number of this.#unused.splice(0)) this.#remove(number)
  }

  /** A file that cannot be removed now is removed when the database is opened the next time. */
  #remove(number: number): void {
    if (this.#options.isDamageTaken) return
    const removal = rm(this.#path(number), { force: true })
      .catch(() => undefined)
      .finally(() => this.#removals.delete(removal))
    this.#removals.add(removal)
  }

  #path(number: number): string {
    return join(this.#options.directory, nameOf(number))
  }

  #describe(number: number): string {
    return describe(nameOf(number), this.#path(number))
  }
}

const describe = (name: string, path: string): string => {
  const kind = findKind(path)
  return kind === undefined ? name : `${name} (${kind})`
}
