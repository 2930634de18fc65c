import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { LogicalError } from '../../logical/errors.js'
import { syncDirectory } from './durable-file.js'
import type { Entry } from './engine.js'
import { findKind } from './regular-file.js'
import { isValueFileSound, readKeyOf, readValue, readValueInTurns, writeValueFile } from './value-file.js'
import { isReference, makeReference, nameOf, numberOf, parseReference, type Reference } from './value-reference.js'

/** Values of at least this size in bytes are stored in separate files. */
export const LARGE_VALUE_BYTES = 1024 * 1024

const EMPTY = Buffer.alloc(0)

/** A large value with the number of the file for it. */
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
  /** If true, a value whose file is unreadable is read as empty, and no file is removed. If false, the read fails. */
  readonly isDamageAccepted: boolean
}

/**
 * The large values of a database, each in a file in the directory of the database. Inside the database, a large value
 * would be copied into the log, into memory and by each compaction, and would stay mapped after a read. A file is
 * durable before the batch that refers to it is written, and never changes. A file is removed when nothing refers to
 * it: neither the current state, nor an open snapshot, nor an older state that a power loss can restore.
 */
export class LargeValues {
  readonly #options: LargeValuesOptions
  /** By key, the number of the file that the newest state of the database refers to. */
  readonly #live = new Map<string, number>()
  #next = 1
  #isClosed = false
  /** Open snapshots and scans that may read replaced values. */
  #readers = 0
  /** Files whose values were replaced by batches that a power loss may undo. */
  #replaced: number[] = []
  /** Files whose values were replaced durably. They can be removed when no reader is open. */
  #unused: number[] = []
  /** Numbers of referenced files that are missing or do not contain the key of the reference. */
  #lost: readonly number[] = []
  readonly #removals = new Set<Promise<void>>()

  private constructor(options: LargeValuesOptions) {
    this.#options = options
  }

  /** Finds the referenced files. Removes files that a crash left without a reference. */
  static async open(options: LargeValuesOptions): Promise<LargeValues> {
    const values = new LargeValues(options)
    const strays: number[] = []
    let mustCompare = false
    for (const entry of await readdir(options.directory, { withFileTypes: true })) {
      const number = numberOf(entry.name)
      if (number === undefined) continue
      values.#next = Math.max(values.#next, number + 1)
      // This class creates only regular files. Another entry may have replaced a value file.
      if (!entry.isFile()) mustCompare = true
      else if (!(await values.#find(number))) strays.push(number)
    }
    if (mustCompare || strays.length > 0) await values.#removeStrays(strays)
    return values
  }

  /** Returns true if a value must be stored in a file: it is large, or it has the form of a reference. */
  takes(value: Buffer): boolean {
    return value.length >= LARGE_VALUE_BYTES || isReference(value)
  }

  /** Reserves a file number for a value. Returns the value with this number, and the reference for the database. */
  place(value: Buffer): { readonly placed: LargeValue; readonly reference: Buffer } {
    const number = this.#next++
    return { placed: { number, value }, reference: makeReference({ number, bytes: value.length }) }
  }

  /**
   * Writes values to durable files. If this fails, removes the written files, except after `close`, because another
   * instance may then use the same file numbers. Rejects with `LogicalError` `unavailable` after `close`.
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

  /** Records a written batch: its changed keys and its large values. Removes files that are no longer used. */
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

  /** Pins all files: none is removed until the caller calls the returned function. */
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

  /** Returns `stored`, or the value that it refers to. Throws `LogicalError` `internal` if the file is unreadable. */
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
    if (this.#options.isDamageAccepted) return EMPTY
    throw new LogicalError('internal', `the data is damaged: ${describe(path, path)} failed verification`)
  }

  /** Replaces references with their values. Returns the entries in chunks of about `chunkBytes`. */
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

  /** Verifies all value files. Resolves to the names of damaged or missing files. */
  async findDamage(): Promise<string[]> {
    const damaged = this.#lost.map((number) => this.#describe(number))
    for (const [key, number] of [...this.#live]) {
      const isSound = await isValueFileSound(this.#path(number))
      if (!isSound && this.#live.get(key) === number) damaged.push(this.#describe(number))
    }
    return damaged
  }

  /** Resolves to the keys with unreadable values, and their file names. No batch may be written during the call. */
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

  /** Stops the removal of files. Resolves when no removal is pending. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#removals)
  }

  /** Records a file as live and resolves to true if the database refers to it under the key in the file. */
  async #find(number: number): Promise<boolean> {
    const key = await readKeyOf(this.#path(number))
    if (key === undefined || parseReference(this.#options.find(key))?.number !== number) return false
    this.#live.set(key, number)
    return true
  }

  /**
   * Removes stray files, which are not referenced under their key. If a referenced file is missing, keeps all stray
   * files, because one of them may contain the missing value.
   */
  async #removeStrays(strays: readonly number[]): Promise<void> {
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
    if (this.#isClosed) throw new LogicalError('unavailable', 'the storage was reopened; try again')
  }

  #sweep(): void {
    if (this.#isClosed || this.#readers > 0) return
    for (const number of this.#unused.splice(0)) this.#remove(number)
  }

  /** Removes a file in the background. If this fails, the next open removes the file. */
  #remove(number: number): void {
    if (this.#options.isDamageAccepted) return
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
