/**
 * An ordered map from string keys to bytes, with synchronous point reads, scans and atomic batches. All stored data
 * goes through this interface. The two implementations, on LevelDB and in memory, pass the same conformance suite.
 */
export interface Engine {
  readonly name: 'level' | 'memory'
  /**
   * A number that changes when existing batches become invalid: they would write to a replaced generation, or their
   * keys would not be recorded. Undefined if batches never become invalid.
   */
  readonly engineVersion?: number | undefined
  get(key: string, snapshot?: EngineSnapshot): Buffer | undefined
  /** Returns true if the key has a value, without reading it. */
  has(key: string, snapshot?: EngineSnapshot): boolean
  /** Returns the entries of a range in chunks, in UTF-8 byte order of the keys, as they are at the first read. */
  scan(range: KeyRange, options?: ScanOptions): AsyncIterable<readonly Entry[]>
  batch(): EngineBatch
  /** Creates a view that later writes do not change. The caller must close it. */
  snapshot(): EngineSnapshot
  /** The last acknowledged commit, stored outside of the data. If the data ends before it, commits are lost. */
  readonly acknowledged: Acknowledged | undefined
  /**
   * Records an acknowledged commit. Must be called after a batch is durable and before the caller reports success.
   * Undefined clears the record.
   */
  acknowledge(next: Acknowledged | undefined): void
  /** Resolves when the acknowledged position survives a power loss. */
  settleAcknowledged(): Promise<void>
  /** Resolves to the names of damaged files. Reads all data. Can run during normal operation. */
  findDamage(): Promise<readonly string[]>
  /** Resolves to the size of the data in bytes, on disk or in memory. */
  sizeBytes(): Promise<number>
  /**
   * Closes and reopens the database, so that it is writable after a failed batch. Reads fail in the meantime, and
   * all snapshots become invalid. If the call rejects, for example because the disk is full, it can be repeated.
   */
  reopen(): Promise<void>
  close(): Promise<void>
}

/** An acknowledged batch: its number, and the last index of the log after it. */
export interface Acknowledged {
  readonly revision: number
  readonly index: number
}

/** A range of keys. If a bound is absent, the range is unlimited on that side. */
export interface KeyRange {
  readonly gte?: string
  readonly gt?: string
  readonly lt?: string
  readonly lte?: string
}

export interface ScanOptions {
  readonly limit?: number
  readonly reverse?: boolean
  readonly snapshot?: EngineSnapshot
  /** If false, the scan returns empty values, which is faster (default true). */
  readonly values?: boolean
  /** Approximate maximum bytes per chunk. */
  readonly chunkBytes?: number
}

export interface Entry {
  readonly key: string
  readonly value: Buffer
}

export interface EngineSnapshot {
  close(): Promise<void>
}

/** Collects operations. `write` applies either all operations or none. */
export interface EngineBatch {
  put(key: string, value: Buffer): void
  delete(key: string): void
  readonly length: number
  /** Resolves when the batch is applied, or with `isDurable` when it survives a power loss. */
  write(options: { isDurable: boolean }): Promise<void>
  /** Frees a batch that will not be written. */
  discard(): void
}

export const prefixRange = (prefix: string): KeyRange =>
  prefix === ''
    ? {}
    : { gte: prefix, lt: prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1) }
