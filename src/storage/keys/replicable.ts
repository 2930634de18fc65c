import type { Category, Owner, Tree } from './key-families.js'

/**
 * The replication interface of the store: log positions, frames, snapshots for a resync, and the two ways to apply
 * changes of another cluster. All values are stored bytes; nothing is decrypted.
 */

/** A key's stored value after a transaction; undefined if deleted. */
export interface Mutation {
  readonly key: string
  readonly value: Buffer | undefined
}

/** Announced when a batch is durable. */
export interface Commit {
  /** Last index of the log after this batch; unchanged if the batch changed ignored keys only. */
  readonly lastIndex: number
  /** The changed keys. For a copy, the objects are created on iteration. */
  readonly mutations: Iterable<Pick<Mutation, 'key'>>
  /**
   * The source of the commit. `recovered`: the batch failed for all its callers, but may have reached the disk.
   * `followed`: another node of this cluster.
   */
  readonly origin: 'own' | 'applied' | 'resynced' | 'recovered' | 'followed'
}

/** Called for each key that a commit changed. */
export type KeyListener = (key: string, origin: Commit['origin']) => void

/** Listeners by the owner of the keys. */
export type KeyListeners = { readonly [O in Owner]?: KeyListener }

/** A position in a cluster's log. Transactions are numbered from 1; `hash` is the hash of the frame that ends there. */
export interface WalPosition {
  readonly index: number
  readonly hash: Buffer
}

/**
 * One frame: the transactions of one durable batch. `bytes` is the header and body as stored; `body` is the part after
 * the header, equal on every cluster.
 */
export interface Frame {
  readonly firstIndex: number
  readonly lastIndex: number
  readonly previousHash: Buffer
  readonly hash: Buffer
  readonly timeMs: number
  readonly bytes: Buffer
  readonly body: Buffer
  /** False if no entry of the frame changes a key of that tree. */
  readonly hasReplicated: boolean
  readonly hasLocal: boolean
}

/**
 * One decoded transaction of a frame. `bytes` is its encoding in the frame's body, if the entry came from a frame
 * unchanged; it can then be logged without encoding it again. Code that changes `operations` must omit `bytes`.
 */
export interface WalEntry {
  readonly index: number
  readonly operations: readonly WalOperation[]
  readonly bytes?: Buffer
}

/**
 * `delta` is the XOR of the key's old and new leaf hash, and is applied to its sub-page. An operation with `filtered`
 * replaces an operation on a key that is not sent to this cluster: `key` is empty, `value` is undefined, and the delta
 * changes the filtered hash of the sub-page.
 */
export interface WalOperation {
  readonly key: string
  readonly category: Exclude<Category, 'ignored'>
  readonly value: Buffer | undefined
  readonly delta: Buffer
  readonly filtered?: { readonly subPage: number }
}

/**
 * The XOR of the leaf hashes of keys that belong to a sub-page but are not stored here. All zero = nothing filtered.
 */
export interface FilteredHash {
  readonly tree: Tree
  readonly subPage: number
  readonly hash: Buffer
}

/** A follower's position in the log of its source cluster. Stored in the same batch as the applied data. */
export interface RemotePosition extends WalPosition {
  readonly epoch: string
}

export interface SubPageKeys {
  readonly subPage: number
  /** Leaf hash of every key, with the key. */
  readonly leaves: readonly { readonly key: string; readonly leaf: Buffer }[]
  /** 20 bytes; absent if nothing is filtered here. */
  readonly filtered?: Buffer
}

/**
 * The Merkle hashes of one tree at one point in time. 65,536 sub-pages, 16 per group, 16 groups per page, 256 pages.
 */
export interface TreeHashes {
  root(): Buffer
  /** 256 hashes of 20 bytes. */
  pages(): Buffer
  /** Returns the 16 group hashes of a page. */
  groups(page: number): Buffer
  /** Returns the 16 sub-page hashes of a group (0..4095). */
  subPages(group: number): Buffer
}

/**
 * A frozen view of data and trees at one index, for a follower that resyncs. While it is open, log trimming is
 * deferred.
 */
export interface SyncSnapshot {
  readonly position: WalPosition
  readonly trees: Readonly<Record<Tree, TreeHashes>>
  leaves(tree: Tree, subPages: readonly number[]): Promise<SubPageKeys[]>
  /** Returns all nonzero filtered hashes: 20 bytes by sub-page. */
  filtered(tree: Tree): Promise<ReadonlyMap<number, Buffer>>
  get(key: string): Buffer | undefined
  /** Returns all data of a tree, in key order, in chunks. With `after`, continues after that key. */
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
   * For caches of stored values: calls the listener for every key that a commit changed, before the commit is announced
   * and before its writer gets the result. Returns the unsubscribe function.
   */
  onChange(listeners: KeyListeners): () => void
  /** Calls the listener after each durable batch, in order. Returns the unsubscribe function. */
  onCommit(listener: (commit: Commit, frame: Frame | undefined) => void): () => void
  /** Returns true if a frame that ends at this index with this hash is in the log or is its end. */
  hasPosition(position: WalPosition): boolean
  /**
   * Returns true if the log covers this position (and is not trimming it now) but does not contain it. While a batch is in
   * flight or has failed, returns false for a position beyond the end, because the position may be stored already.
   */
  isAstray(position: WalPosition): boolean
  /**
   * Returns the frames after `index`, from memory if they are recent, otherwise from disk, up to `maxBytes`. Empty at
   * the end of the log; undefined if the frames were trimmed.
   */
  framesAfter(index: number, maxBytes: number): Promise<readonly Frame[] | undefined>
  snapshot(): SyncSnapshot

  /**
   * Applies entries of another cluster as one durable batch with one local frame, and stores `remote` in the same batch.
   * If a delta shows that this store has diverged, changes nothing and resolves to false.
   */
  applyEntries(entries: readonly WalEntry[], remote: RemotePosition): Promise<boolean>
  /**
   * Writes data of a resync without log entries: the log is cut, so followers of this store must resync too. With
   * `remote`, the resync is complete and the position is stored. `filtered` sets filtered hashes to new values. If
   * there is nothing to write, the log is not cut. Also writes the entries added to `copy` since the last import.
   */
  importMutations(
    mutations: readonly Mutation[],
    remote?: RemotePosition,
    filtered?: readonly FilteredHash[],
    copy?: FirstCopy,
  ): Promise<void>
  /** Begins to copy whole trees of another store. This store must be nearly empty. */
  firstCopy(): FirstCopy
  /**
   * Until the import that completes the resync, reads of replicated keys return the state before the next import, so
   * that no reader sees half a transaction.
   */
  holdReads(): void
  /**
   * True from the first import of a resync until the last import. In this time, the stored data is a mixture of old and
   * new data.
   */
  readonly isResyncing: boolean
  /** Deletes the remote position, as a promotion requires. */
  forgetRemote(): Promise<void>
  /** Removes the whole log, so that followers of this store must resync. The data and the remote position stay. */
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

/** Entries of another store that are copied into this one, as steps of a resync. */
export interface FirstCopy {
  /** Entries and bytes that wait for an import. */
  readonly length: number
  readonly bytes: number
  /** Added keys that already existed here. */
  readonly replaced: ReadonlySet<string>
  /** Adds entries of a tree in the format of `storage/sync/packed.ts`, each key once. Throws if they are damaged. */
  add(tree: Tree, packed: Buffer): void
  /** Drops the entries that were not imported. */
  discard(): void
}

export interface RebuildOptions {
  /** Keeps the rebuilt pages in memory; the next checkpoint writes them. */
  readonly skipFlush?: boolean
  readonly onProgress?: (done: number, total: number) => void
  readonly signal?: AbortSignal
}

/** Sub-pages whose hash does not match the stored data, by page. */
export type CorruptPages = ReadonlyMap<number, readonly number[]>

export interface TreeReport {
  readonly pages: Readonly<Record<Tree, CorruptPages>>
  /** Messages about lost or changed data. A rebuild of the trees would accept this data as correct. */
  readonly damage: readonly string[]
}

/** Maintenance of the trees against the data. Runs beside normal work. */
export interface MaintainedTrees {
  /** Recomputes both trees from the data and repairs differences in memory and on disk. Resolves to the differences. */
  rebuild(options?: RebuildOptions): Promise<Readonly<Record<Tree, CorruptPages>>>
  /** Checks the trees, the data and the files. Changes nothing. */
  examine(signal?: AbortSignal): Promise<TreeReport>
  /** Corrupts a page's hashes in memory, for fault injection. */
  corruptPage(tree: Tree, page: number): void
}
