/**
 * The only thing that touches a disk. An ordered map from text keys to bytes with synchronous point reads, scans, and one
 * atomic batch. Two implementations, LevelDB and a Map, pass one conformance suite.
 */
export interface Engine {
  readonly name: 'level' | 'memory'
  /** Changes when a batch begun before may no longer be written, because it would go elsewhere or unseen. Undefined: never. */
  readonly engineVersion?: number | undefined
  get(key: string, snapshot?: EngineSnapshot): Buffer | undefined
  /** Whether the key holds anything, whatever its size. */
  has(key: string, snapshot?: EngineSnapshot): boolean
  /** Entries of the range in key order (that of their UTF-8 bytes), in chunks, as they are when the first is asked for. */
  scan(range: KeyRange, options?: ScanOptions): AsyncIterable<readonly Entry[]>
  batch(): EngineBatch
  /** A view that later writes do not change. Whoever makes it closes it. */
  snapshot(): EngineSnapshot
  /** The commit that was acknowledged last, kept outside of the data: data that is older has lost its end. */
  readonly acknowledged: Acknowledged | undefined
  /** To be called when a batch is durable, before anybody is told so. Undefined forgets. It costs next to nothing. */
  acknowledge(next: Acknowledged | undefined): void
  /** Resolves when what was acknowledged is remembered even after power loss. */
  settleAcknowledged(): Promise<void>
  /** Names of files that are not as they were written. Everything is read for it; it runs beside normal work. */
  findDamage(): Promise<readonly string[]>
  /** Bytes on disk, or in memory. */
  sizeBytes(): Promise<number>
  /**
   * Makes an engine writable again whose batch has failed, by closing and opening it. Reads fail meanwhile and snapshots
   * are lost. Rejects while that is not possible, as on a full disk; it may be called again then.
   */
  reopen(): Promise<void>
  close(): Promise<void>
}

/** How far the data has come: the number of a batch, and where the log ends with it. */
export interface Acknowledged {
  readonly revision: number
  readonly index: number
}

/** `gte <= key < lt`. Both default to the whole. */
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
  /** False leaves `value` empty and is faster. */
  readonly values?: boolean
  /** About how many bytes a chunk may hold; an engine may hold to it loosely. */
  readonly chunkBytes?: number
}

export interface Entry {
  readonly key: string
  readonly value: Buffer
}

export interface EngineSnapshot {
  close(): Promise<void>
}

/** Collects operations; `write` makes them all happen, or none. */
export interface EngineBatch {
  put(key: string, value: Buffer): void
  delete(key: string): void
  readonly length: number
  /** Resolves when applied; with `isDurable` when it survives power loss. */
  write(options: { isDurable: boolean }): Promise<void>
  /** Frees a batch that will not be written. */
  discard(): void
}

/** The range of all keys that begin with `prefix`. */
export const prefixRange = (prefix: string): KeyRange =>
  prefix === ''
    ? {}
    : { gte: prefix, lt: prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1) }
