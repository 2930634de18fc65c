import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { LogicalError } from '../../logical/errors.js'
import { syncDirectory } from './durable-file.js'
import type { Entry } from './engine.js'
import { findKind } from './regular-file.js'
import { isValueFileSound, readKeyOf, readValue, readValueInTurns, writeValueFile } from './value-file.js'
import { isReference, makeReference, nameOf, numberOf, parseReference, type Reference } from './value-reference.js'

/** Values of at least this size are stored in separate files. */
export const LARGE_VALUE_BYTES = 1024 * 1024

const EMPTY = Buffer.alloc(0)

/** A large value that a batch will write. */
export interface LargeValue {
  readonly number: number
  readonly value: Buffer
}

interface LargeValuesOptions {
  readonly directory: string
  /** Reads a value or a reference from the database. */
  readonly find: (key: string) => Buffer | undefined
  /** Reads the values and references of all keys. */
  readonly all: () => AsyncIterable<readonly [string, Buffer]>
  /** If true, reads return the readable part of a value whose file is damaged. */
  readonly isDamageTaken: boolean
}

/**
 * The large values of a database, each in a file in its directory. Inside the database, a large value would be copied into
 * the log, into memory, and again by each compaction, and would stay mapped after a read. A file is on disk before the
 * batch that refers to it is written, and never changes. It is removed when no state refers to it: not the current state,
 * no open snapshot, and no older state that a power loss can restore.
 */
export class LargeValues {
  readonly #options: LargeValuesOptions
  /** Numbers of the files that the newest state of the database refers to, by key. */
  readonly #live = new Map<string, number>()
  #next = 1
  #isClosed = false
  /** Open snapshots and scans that may read replaced values. */
  #readers = 0
  /** Files replaced by batches that a power loss may undo. */
  #replaced: number[] = []
  /** Files that are permanently replaced. */
  #unused: number[] = []
  /** Files that are referenced but missing, or whose key cannot be read from them. */
  #lost: readonly number[] = []
  readonly #removals = new Set<Promise<void>>()

  private constructor(options: LargeValuesOptions) {
    this.#options = options
  }

  /** Finds the referenced files, and removes files that a crash left without a reference. */
  static async open(options: LargeValuesOptions): Promise<LargeValues> {
    const values = new LargeValues(options)
    const strays: number[] = []
    let isJudged = false
    for (const entry of await readdir(options.directory, { withFileTypes: true })) {
      const number = numberOf(entry.name)
      if (number === undefined) continue
      values.#next = Math.max(values.#next, number + 1)
      // An entry that is not a regular file was not created here, but may have replaced a value file.
      if (!entry.isFile()) isJudged = true
      else if (!(await values.#find(number))) strays.push(number)
    }
    if (isJudged || strays.length > 0) await values.#judge(strays)
    return values
  }

  /** Returns true if a value must be stored in a file. */
  takes(value: Buffer): boolean {
    return value.length >= LARGE_VALUE_BYTES || isReference(value)
  }

  /** Reserves a file for a value. Nothing is written yet. */
  place(value: Buffer): { readonly placed: LargeValue; readonly reference: Buffer } {
    const number = this.#next++
    return { placed: { number, value }, reference: makeReference({ number, bytes: value.length }) }
  }

  /**
   * Makes values durable and yields to the event loop between them. On failure, removes the written files, except after
   * `close`, because another instance may then use the same file numbers.
   */
  async write(values: ReadonlyMap<string, LargeValue>): Promise<void> {
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

  /** Records that a batch changed these keys and contains these large values. */
  note(keys: readonly string[], values: ReadonlyMap<string, LargeValue>, isDurable: boolean): void {
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

  /** Pins the files: nothing is removed until the returned function is called. */
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

  /** Returns the value for a stored value or reference. Throws `LogicalError` `internal` if the file is damaged. */
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
    throw new LogicalError('internal', `the data is damaged: ${describe(path, path)} failed verification`)
  }

  /** Replaces references with their values, in chunks of about `chunkBytes`. Yields to the event loop between reads. */
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

  /** Returns the names of damaged files. */
  async findDamage(): Promise<string[]> {
    const damaged = this.#lost.map((number) => this.#describe(number))
    for (const [key, number] of [...this.#live]) {
      const isSound = await isValueFileSound(this.#path(number))
      if (!isSound && this.#live.get(key) === number) damaged.push(this.#describe(number))
    }
    return damaged
  }

  /** Returns the keys whose values cannot be read, with their file names. No batch may be written during the call. */
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

  /** Resolves when no removal is pending. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#removals)
  }

  /** Checks whether the database refers to a file under the key that the file names. */
  async #find(number: number): Promise<boolean> {
    const key = await readKeyOf(this.#path(number))
    if (key === undefined || parseReference(this.#options.find(key))?.number !== number) return false
    this.#live.set(key, number)
    return true
  }

  /**
   * Removes files that are not referenced under their key. If a referenced file is missing, keeps the stray files: one of
   * them may contain its value.
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
    if (this.#isClosed) throw new LogicalError('unavailable', 'the storage was reopened')
  }

  #sweep(): void {
    if (this.#isClosed || this.#readers > 0) return
    for (const number of this.#unused.splice(0)) this.#remove(number)
  }

  /** Removes a file. If this fails, the next open removes it. */
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
