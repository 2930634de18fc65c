/**
 * The only module that accesses the disk: an ordered map from string keys to bytes, with synchronous point reads, scans
 * and one atomic batch. The two implementations, LevelDB and a Map, pass one conformance suite.
 */
export interface Engine {
  readonly name: 'level' | 'memory'
  /**
   * Changes when batches that were created earlier must no longer be written, because they would reach the wrong
   * generation or would not be recorded. Undefined if this never happens.
   */
  readonly engineVersion?: number | undefined
  get(key: string, snapshot?: EngineSnapshot): Buffer | undefined
  /** Returns true if the key has a value, without reading it. */
  has(key: string, snapshot?: EngineSnapshot): boolean
  /** Returns the entries of the range in key order (UTF-8 byte order), in chunks. Shows the state at the first read. */
  scan(range: KeyRange, options?: ScanOptions): AsyncIterable<readonly Entry[]>
  batch(): EngineBatch
  /** Creates a view that later writes do not change. The caller must close it. */
  snapshot(): EngineSnapshot
  /** The last acknowledged commit, stored outside of the data. Data older than this has lost commits. */
  readonly acknowledged: Acknowledged | undefined
  /**
   * Records an acknowledged commit. Must be called when a batch is durable, before the result is reported. Undefined
   * clears the record. The cost is negligible.
   */
  acknowledge(next: Acknowledged | undefined): void
  /** Resolves when the acknowledged position survives a power loss. */
  settleAcknowledged(): Promise<void>
  /** Returns the names of damaged files. Reads all data; runs beside normal work. */
  findDamage(): Promise<readonly string[]>
  /** Returns the bytes on disk, or in memory. */
  sizeBytes(): Promise<number>
  /**
   * Makes an engine writable after a failed batch, by closing and reopening it. During this time reads fail, and
   * snapshots are lost. Rejects while reopening is impossible, for example on a full disk; can be retried.
   */
  reopen(): Promise<void>
  close(): Promise<void>
}

/** The last acknowledged state: the number of a batch, and the end of the log after this batch. */
export interface Acknowledged {
  readonly revision: number
  readonly index: number
}

/** `gte <= key < lt`. An absent bound means no bound. */
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
  /** If false, `value` is empty, which is faster. */
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

/** Collects operations. `write` applies all of them or none. */
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
