import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { closeToOthers } from './durable-file.js'
import { LogicalError } from '../../logical/errors.js'
import type { Ballast } from './ballast.js'
import { ABSENT, RecentValues } from './recent-values.js'
import { breakSeal, checkSeal, sealFiles } from './file-seal.js'
import { findDamagedTables } from './table-check.js'
import { HighWater } from './high-water.js'
import { LargeValues } from './large-values.js'
import { LevelBatch } from './level-batch.js'
import { getStored, type Native, type NativeSnapshot } from './level-native.js'
import { damagedData, hasCode } from './level-failure.js'
import { isReference } from './value-reference.js'
import type { Acknowledged, Engine, EngineBatch, EngineSnapshot, Entry, KeyRange, ScanOptions } from './engine.js'

/** Maximum entries and approximate maximum bytes of one read of a scan. */
const CHUNK_ENTRIES = 1000
const CHUNK_BYTES = 1024 * 1024
class LevelSnapshot implements EngineSnapshot {
  readonly native: NativeSnapshot
  readonly #release: () => void
  constructor(native: NativeSnapshot, release: () => void) {
    this.native = native
    this.#release = release
  }
  close(): Promise<void> {
    return this.native.close().finally(this.#release)
  }
}

const nativeOf = (snapshot: EngineSnapshot | undefined): { snapshot: NativeSnapshot } | undefined => {
  if (snapshot === undefined) return undefined
  if (!(snapshot instanceof LevelSnapshot)) throw new Error('the snapshot belongs to another engine')
  return { snapshot: snapshot.native }
}

/** Returns the path of the lock file if another process has the database open (empty if unknown), else undefined. */
export const findLockFile = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined
  if (!hasCode(error, 'LEVEL_LOCKED')) return findLockFile(error.cause)
  return /lock (.+LOCK):/.exec(error.message)?.[1] ?? ''
}

const openLarge = (db: Native, directory: string, isDamageAccepted: boolean): Promise<LargeValues> =>
  LargeValues.open({
    directory,
    isDamageAccepted,
    find: (key) => getStored(db, key, undefined),
    all: () => db.iterator(),
  })

const requireSound = (directory: string, damaged: readonly string[]): void => {
  if (damaged.length === 0) return
  throw damagedData(`the data is damaged: files in ${directory} failed verification: ${damaged.join(', ')}`)
}

interface Opened {
  readonly db: Native
  readonly large: LargeValues
  readonly highWater: HighWater
}

interface LevelEngineOptions {
  readonly directory: string
  /** If false, `open` rejects a directory without a database. */
  readonly createIfMissing: boolean
  /** If true, a damaged database is opened too, for inspection. */
  readonly isDamageAccepted?: boolean
  /** If true, the seal is not verified, so that files that differ from it can be opened. */
  readonly isSealIgnored?: boolean
  /** Reserved disk space that `reopen` frees if the disk is full. */
  readonly ballast?: Ballast
}

/** Loads LevelDB when the first database is opened, because most commands open none. */
const openNative = async (directory: string, createIfMissing: boolean): Promise<Native> => {
  const native = await import('./open-native.js')
  return native.openNative(directory, createIfMissing)
}

/** An engine on LevelDB. Compression is off, because the values are ciphertext. */
export class LevelEngine implements Engine {
  readonly name = 'level'
  readonly #options: LevelEngineOptions
  readonly #highWater: HighWater
  /** True if the files have no digests of a clean close (see file-seal.ts), for example after a crash. */
  readonly isUnchecked: boolean
  readonly #recent = new RecentValues()
  #db: Native
  #large: LargeValues

  private constructor(options: LevelEngineOptions, isUnchecked: boolean, { db, large, highWater }: Opened) {
    this.#options = options
    this.#db = db
    this.#large = large
    this.isUnchecked = isUnchecked
    this.#highWater = highWater
  }

  /** Opens a database. Rejects with `LogicalError` if the database is open in another process, or unreadable. */
  static async open(options: LevelEngineOptions): Promise<LevelEngine> {
    const { directory, createIfMissing, isDamageAccepted = false, isSealIgnored = false } = options
    await closeToOthers(directory, createIfMissing)
    const isSealed = !isSealIgnored && (await checkSeal(directory))
    if (isSealed || isSealIgnored) await breakSeal(directory)
    if (!isSealed && !isDamageAccepted) requireSound(directory, await findDamagedTables(directory))
    const db = await openNative(directory, createIfMissing)
    try {
      const large = await openLarge(db, directory, isDamageAccepted)
      if (!isSealed && !isDamageAccepted) requireSound(directory, await large.findDamage())
      const highWater = await HighWater.open(join(directory, 'acknowledged'), {
        mayBeNew: createIfMissing,
        isDamageAccepted,
      })
      return new LevelEngine(options, !isSealed, { db, large, highWater })
    } catch (error) {
      await db.close()
      throw error
    }
  }

  get(key: string, snapshot?: EngineSnapshot): Buffer | undefined {
    this.#requireOpen()
    const known = snapshot === undefined ? this.#recent.find(key) : undefined
    if (known !== undefined) return known === ABSENT ? undefined : known
    const stored = getStored(this.#db, key, nativeOf(snapshot))
    const value = stored && this.#large.resolve(key, stored)
    if (snapshot === undefined) this.#recent.add(key, value)
    return value
  }

  has(key: string, snapshot?: EngineSnapshot): boolean {
    this.#requireOpen()
    const known = snapshot === undefined ? this.#recent.find(key) : undefined
    if (known !== undefined) return known !== ABSENT
    const stored = getStored(this.#db, key, nativeOf(snapshot))
    // The value is cached, because the caller usually reads it next.
    if (snapshot === undefined && !(stored && isReference(stored))) this.#recent.add(key, stored)
    return stored !== undefined
  }

  async *scan(range: KeyRange, options: ScanOptions = {}): AsyncGenerator<readonly Entry[]> {
    this.#requireOpen()
    const { chunkBytes = CHUNK_BYTES } = options
    const large = this.#large
    const release = large.pin()
    const iterator = this.#db.iterator<string, Buffer>({
      ...range,
      ...nativeOf(options.snapshot),
      limit: options.limit ?? -1,
      reverse: options.reverse ?? false,
      values: options.values ?? true,
      highWaterMarkBytes: chunkBytes,
    })
    try {
      for (;;) {
        const found = await iterator.nextv(CHUNK_ENTRIES)
        if (found.length === 0) return
        const entries = found.map(([key, value]) => ({ key, value: value ?? EMPTY }))
        yield* large.chunks(entries, chunkBytes)
      }
    } finally {
      await iterator.close().finally(release)
    }
  }

  batch(): EngineBatch {
    this.#requireOpen()
    return new LevelBatch(this.#db, this.#large, this.#recent)
  }

  snapshot(): EngineSnapshot {
    this.#requireOpen()
    return new LevelSnapshot(this.#db.snapshot(), this.#large.pin())
  }

  async findDamage(): Promise<readonly string[]> {
    return [...(await findDamagedTables(this.#options.directory)), ...(await this.#large.findDamage())]
  }

  /** Resolves to the keys with unreadable values, and their file names. No batch may be written during the call. */
  findUnreadable(): Promise<ReadonlyMap<string, string>> {
    return this.#large.findUnreadable()
  }

  get acknowledged(): Acknowledged | undefined {
    return this.#highWater.last
  }

  acknowledge(next: Acknowledged | undefined): void {
    this.#highWater.write(next)
  }

  settleAcknowledged(): Promise<void> {
    return this.#highWater.settle()
  }

  async sizeBytes(): Promise<number> {
    let total = 0
    for (const name of await readdir(this.#options.directory)) {
      // A compaction may have removed the file since the directory was read.
      const found = await stat(join(this.#options.directory, name)).catch(() => undefined)
      total += found?.size ?? 0
    }
    return total
  }

  async reopen(): Promise<void> {
    const { directory, ballast, isDamageAccepted = false } = this.#options
    if (this.#db.status === 'open') {
      await ballast?.requireFreeSpace()
      await ballast?.drop()
      await this.#db.close()
    }
    await this.#large.close()
    this.#recent.clear()
    this.#db = await openNative(directory, false)
    this.#large = await openLarge(this.#db, directory, isDamageAccepted)
    await ballast?.restore()
  }

  /** Closes the database and seals its files, so that the next open detects changes. */
  async close(): Promise<void> {
    const isOpen = this.#db.status === 'open'
    await this.discard()
    if (!isOpen) return
    // If sealing fails, for example on a full disk, the next open is unchecked.
    await sealFiles(this.#options.directory).catch(() => undefined)
  }

  /** Closes a database without a seal, because the database will be removed or must count as unverified. */
  async discard(): Promise<void> {
    await this.#db.close()
    await this.#large.close()
    this.#highWater.close()
  }

  #requireOpen(): void {
    if (this.#db.status !== 'open') throw new LogicalError('unavailable', 'the storage is being reopened; try again')
  }
}

const EMPTY = Buffer.alloc(0)
