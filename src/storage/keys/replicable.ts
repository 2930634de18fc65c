import type { Category, Owner, Tree } from './key-families.js'

/**
 * The interface of the store for replication: log positions, frames, snapshots for a resync, and two methods to apply
 * changes of another cluster. All values are the stored bytes. Nothing is decrypted.
 */

/** A changed key with its stored value after a transaction. The value is undefined if the key was deleted. */
export interface Mutation {
  readonly key: string
  readonly value: Buffer | undefined
}

/** The changes of one batch. Announced to listeners after the batch is written. */
export interface Commit {
  /** Last index of the log after this batch; unchanged if the batch changed ignored keys only. */
  readonly lastIndex: number
  /** The changed keys. During a resync, the iterator may create the objects one by one, to save memory. */
  readonly mutations: Iterable<Pick<Mutation, 'key'>>
  /**
   * The source of the commit. `own`: this cluster. `applied`: the log of the source cluster. `resynced`: a resync.
   * `recovered`: a batch that failed for all its callers, but may have reached the disk. `followed`: another node of
   * this cluster.
   */
  readonly origin: 'own' | 'applied' | 'resynced' | 'recovered' | 'followed'
}

/** Called for each key that a commit changed. */
export type KeyListener = (key: string, origin: Commit['origin']) => void

/** Listeners by the owner of the keys. */
export type KeyListeners = { readonly [O in Owner]?: KeyListener }

/** A position in a cluster's log. `index` counts transactions from 1. `hash` is that of the frame that ends there. */
export interface WalPosition {
  readonly index: number
  readonly hash: Buffer
}

/**
 * One frame: the log record of one batch, with one or more transactions. `bytes` is the stored header and body. `body`
 * follows the header.
 */
export interface Frame {
  readonly firstIndex: number
  readonly lastIndex: number
  readonly previousHash: Buffer
  readonly hash: Buffer
  readonly timeMs: number
  readonly bytes: Buffer
  readonly body: Buffer
  /** Whether an entry of the frame changes a key of the tree of replicated or local keys. */
  readonly hasReplicated: boolean
  readonly hasLocal: boolean
}

/**
 * One decoded transaction of a frame. `bytes` is its encoding in the body of the frame. The store logs these bytes
 * instead of encoding the operations again. Code that changes `operations` must omit `bytes`.
 */
export interface WalEntry {
  readonly index: number
  readonly operations: readonly WalOperation[]
  readonly bytes?: Buffer
}

/**
 * A change of one key. `delta` is the XOR of the old and the new leaf hash of the key, and changes the hash of the
 * key's sub-page. If a path filter withholds a key from this cluster, the operation has `filtered`: `key` is then
 * empty, `value` is undefined, and `delta` changes the filtered hash of the sub-page.
 */
export interface WalOperation {
  readonly key: string
  readonly category: Exclude<Category, 'ignored'>
  readonly value: Buffer | undefined
  readonly delta: Buffer
  readonly filtered?: { readonly subPage: number }
}

/**
 * The XOR of the leaf hashes of the keys of a sub-page that a path filter withholds from this cluster. The hash is zero
 * if nothing is withheld.
 */
export interface FilteredHash {
  readonly tree: Tree
  readonly subPage: number
  readonly hash: Buffer
}

/** The position of a secondary in the log of its source cluster. Stored in the same batch as the applied data. */
export interface RemotePosition extends WalPosition {
  readonly epoch: string
}

export interface SubPageKeys {
  readonly subPage: number
  /** All stored keys of the sub-page, with their leaf hashes. */
  readonly leaves: readonly { readonly key: string; readonly leaf: Buffer }[]
  /** Filtered hash of the sub-page (20 bytes); absent if nothing is withheld. */
  readonly filtered?: Buffer
}

/** The Merkle hashes of one tree: 256 pages of 16 groups of 16 sub-pages (65,536 sub-pages). A hash has 20 bytes. */
export interface TreeHashes {
  root(): Buffer
  /** Returns the 256 page hashes. */
  pages(): Buffer
  /** Returns the 16 group hashes of a page. */
  groups(page: number): Buffer
  /** Returns the 16 sub-page hashes of a group (0..4095). */
  subPages(group: number): Buffer
}

/**
 * A frozen view of data and trees at one index, from which a secondary resyncs. While the snapshot is open, the log is
 * trimmed only to its hard limit.
 */
export interface SyncSnapshot {
  readonly position: WalPosition
  readonly trees: Readonly<Record<Tree, TreeHashes>>
  /** Resolves to the keys and leaf hashes of sub-pages. */
  leaves(tree: Tree, subPages: readonly number[]): Promise<SubPageKeys[]>
  /** Resolves to all nonzero filtered hashes (20 bytes) by sub-page. */
  filtered(tree: Tree): Promise<ReadonlyMap<number, Buffer>>
  get(key: string): Buffer | undefined
  /** Returns the data of a tree in chunks, in key order. With `after`, starts after that key. */
  scan(tree: Tree, after?: string): AsyncIterable<readonly { readonly key: string; readonly value: Buffer }[]>
  close(): Promise<void>
}

export interface ReplicableStore extends MaintainedTrees {
  readonly position: WalPosition
  /** Last index whose transaction changed a replicated key. */
  readonly lastReplicatedIndex: number
  /** Last index whose transaction changed a replicated or local key. */
  readonly lastShippedIndex: number
  /** Oldest index on disk. */
  readonly firstIndex: number
  readonly trees: Readonly<Record<Tree, TreeHashes>>
  /**
   * Calls the listeners of caches for every key that a commit changed. The calls precede the listeners of `onCommit`
   * and the result of the writer. Returns the unsubscribe function.
   */
  onChange(listeners: KeyListeners): () => void
  /** Calls the listener after each commit, in order. Returns the unsubscribe function. */
  onCommit(listener: (commit: Commit, frame: Frame | undefined) => void): () => void
  /** Returns true if the log contains a frame that ends at this index with this hash, or starts after this position. */
  hasPosition(position: WalPosition): boolean
  /**
   * Returns true if the log reaches back to this position, also after a running trim, but does not contain it: the
   * follower has diverged. While a batch is in flight or has failed, returns false for a position after the end,
   * because this position may already be on disk.
   */
  isAstray(position: WalPosition): boolean
  /**
   * Resolves to frames after `index`, of at most `maxBytes` but at least one frame. Reads recent frames from memory and
   * older frames from disk. Resolves to an empty list at the end of the log, and to undefined if the frames were
   * trimmed.
   */
  framesAfter(index: number, maxBytes: number): Promise<readonly Frame[] | undefined>
  snapshot(): SyncSnapshot

  /**
   * Applies entries of another cluster in one batch with one local frame, and stores `remote` in the same batch. If a
   * delta shows that this store has diverged, changes nothing and resolves to false.
   */
  applyEntries(entries: readonly WalEntry[], remote: RemotePosition): Promise<boolean>
  /**
   * Writes data of a resync without log entries: `mutations`, the new values of filtered hashes (`filtered`), and the
   * entries that were added to `copy` since the last import. If there is data, cuts the log, so that secondaries of
   * this store must resync too. With `remote`, also stores this position and completes the resync.
   */
  importMutations(
    mutations: readonly Mutation[],
    remote?: RemotePosition,
    filtered?: readonly FilteredHash[],
    copy?: FirstCopy,
  ): Promise<void>
  /** Starts to copy whole trees of another store. This store must be nearly empty. */
  firstCopy(): FirstCopy
  /**
   * Freezes reads of replicated keys: until the resync is complete, they return the state before the next import, so
   * that clients never read a half-applied transaction.
   */
  holdReads(): void
  /** True from the first to the last import of a resync. Meanwhile, the store contains both old and new data. */
  readonly isResyncing: boolean
  /** Deletes the remote position, as a promotion requires. */
  forgetRemote(): Promise<void>
  /** Removes the whole log, so that secondaries of this store must resync. The data and the remote position stay. */
  cutLog(): Promise<void>
  /** The epoch of new frames; empty until it is set. At most 36 ASCII characters. */
  readonly epoch: string
  setEpoch(epoch: string): Promise<void>
  /**
   * The stored position in the log of the source cluster; undefined after a cut, or if this cluster never replicated
   * from another.
   */
  readonly remotePosition: RemotePosition | undefined
}

/** Collects entries of another store during a resync. `importMutations` writes them. */
export interface FirstCopy {
  /** Number and bytes of the entries that wait for an import. */
  readonly length: number
  readonly bytes: number
  /** Added keys that already existed in this store. */
  readonly replaced: ReadonlySet<string>
  /** Adds entries of a tree, each key once, in the format of `storage/sync/packed.ts`. Throws if they are damaged. */
  add(tree: Tree, packed: Buffer): void
  /** Drops the entries that were not imported. */
  discard(): void
}

export interface RebuildOptions {
  /** If true, keeps the rebuilt pages in memory until the next checkpoint writes them (default false). */
  readonly skipFlush?: boolean
  readonly onProgress?: (done: number, total: number) => void
  readonly signal?: AbortSignal
}

/** By page, the sub-pages whose hash does not match the stored data. */
export type CorruptPages = ReadonlyMap<number, readonly number[]>

export interface TreeReport {
  readonly pages: Readonly<Record<Tree, CorruptPages>>
  /** Messages about lost or changed data. A rebuild of the trees would hide this damage. */
  readonly damage: readonly string[]
}

/** Repair and verification of the trees. Both run during normal operation. */
export interface MaintainedTrees {
  /** Recomputes both trees from the data and repairs differences. Resolves to the sub-pages that were wrong. */
  rebuild(options?: RebuildOptions): Promise<Readonly<Record<Tree, CorruptPages>>>
  /** Verifies the trees, the data and the files. Changes nothing. */
  examine(signal?: AbortSignal): Promise<TreeReport>
  /** Corrupts a page's hashes in memory, for fault injection. */
  corruptPage(tree: Tree, page: number): void
}
