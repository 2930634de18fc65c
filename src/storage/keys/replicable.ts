import type { Category, Owner, Tree } from './key-families.js'

/**
 * The store as replication sees it: positions in its log, frames, snapshots for a resync, and the two ways in which
 * foreign changes arrive. Everything here is stored bytes; nothing is decrypted.
 */

/** A key's stored value after a transaction; undefined = deleted. */
export interface Mutation {
  readonly key: string
  readonly value: Buffer | undefined
}

/** Announced once a batch is durable. */
export interface Commit {
  /** Last index of the log after this batch; unchanged when it held ignored keys only. */
  readonly lastIndex: number
  /** The keys that have changed; those of a copy are made as they are asked for. */
  readonly mutations: Iterable<Pick<Mutation, 'key'>>
  /**
   * Who made it, and so who knows of it already. `recovered`: the batch had failed, to all who asked for it, and may have
   * reached the disk all the same. `followed`: another node of this cluster.
   */
  readonly origin: 'own' | 'applied' | 'resynced' | 'recovered' | 'followed'
}

/** Told of a key that a commit has changed. */
export type KeyListener = (key: string, origin: Commit['origin']) => void

/** By whose keys they remember. */
export type KeyListeners = { readonly [O in Owner]?: KeyListener }

/** A place in a cluster's log: transactions are numbered from 1; `hash` is that of the frame that ends there. */
export interface WalPosition {
  readonly index: number
  readonly hash: Buffer
}

/**
 * One frame: the transactions of one durable batch. `bytes` is header and body as they lie on disk; `body` is the part
 * after the header, equal on every cluster.
 */
export interface Frame {
  readonly firstIndex: number
  readonly lastIndex: number
  readonly previousHash: Buffer
  readonly hash: Buffer
  readonly timeMs: number
  readonly bytes: Buffer
  readonly body: Buffer
  /** False when no entry of the frame touches a key of that tree. */
  readonly hasReplicated: boolean
  readonly hasLocal: boolean
}

/**
 * One transaction of a frame, decoded. `bytes` is how it stands in the frame's body: present when the entry came from a
 * frame unchanged, so that it can be logged again without encoding it again. Whoever changes `operations` leaves it out.
 */
export interface WalEntry {
  readonly index: number
  readonly operations: readonly WalOperation[]
  readonly bytes?: Buffer
}

/**
 * `delta` = XOR of the key's old and new leaf hash: what this operation does to its sub-page. An operation with `filtered`
 * stands for keys that are kept from this cluster: `key` is empty, `value` undefined, and the delta changes the
 * filtered hash of that sub-page.
 */
export interface WalOperation {
  readonly key: string
  readonly category: Exclude<Category, 'ignored'>
  readonly value: Buffer | undefined
  readonly delta: Buffer
  readonly filtered?: { readonly subPage: number }
}

/** The XOR of the leaf hashes of keys that count in a sub-page but are not stored here. All zero = nothing filtered. */
export interface FilteredHash {
  readonly tree: Tree
  readonly subPage: number
  readonly hash: Buffer
}

/** Where a follower stands in the log of the cluster it follows; stored in the same batch as what it applied. */
export interface RemotePosition extends WalPosition {
  readonly epoch: string
}

export interface SubPageKeys {
  readonly subPage: number
  /** Leaf hash of every key, with the key. */
  readonly leaves: readonly { readonly key: string; readonly leaf: Buffer }[]
  /** 20 bytes; absent when nothing is filtered here. */
  readonly filtered?: Buffer
}

/** The merkle hashes of one tree at one moment. 65,536 sub-pages, 16 to a group, 16 groups to a page, 256 pages. */
export interface TreeHashes {
  root(): Buffer
  /** 256 hashes of 20 bytes. */
  pages(): Buffer
  /** The 16 group hashes of a page. */
  groups(page: number): Buffer
  /** The 16 sub-page hashes of a group (0..4095). */
  subPages(group: number): Buffer
}

/** A frozen view of data and trees at one index, for a follower that resyncs. Holds back log trimming while open. */
export interface SyncSnapshot {
  readonly position: WalPosition
  readonly trees: Readonly<Record<Tree, TreeHashes>>
  leaves(tree: Tree, subPages: readonly number[]): Promise<SubPageKeys[]>
  /** Everything kept from this cluster: 20 bytes by sub-page, without the zeros. */
  filtered(tree: Tree): Promise<ReadonlyMap<number, Buffer>>
  get(key: string): Buffer | undefined
  /** All data of a tree, in key order, in chunks; `after` goes on behind a key. */
  scan(tree: Tree, after?: string): AsyncIterable<readonly { readonly key: string; readonly value: Buffer }[]>
  close(): Promise<void>
}

export interface ReplicableStore {
  readonly position: WalPosition
  /** Last index whose transaction touched a replicated key; a replicated or local key. */
  readonly lastReplicatedIndex: number
  readonly lastShippedIndex: number
  /** Oldest index still on disk. */
  readonly firstIndex: number
  readonly trees: Readonly<Record<Tree, TreeHashes>>
  /**
   * For whoever remembers stored values: told of every key that a commit has changed, before anybody is told of the commit,
   * and before its writer is. Returns the unsubscribe function.
   */
  onChange(listeners: KeyListeners): () => void
  /** Called after each durable batch, in order. Returns the unsubscribe function. */
  onCommit(listener: (commit: Commit, frame: Frame | undefined) => void): () => void
  /** True when a frame that ends at this index with this hash is in the log (or is its end). */
  hasPosition(position: WalPosition): boolean
  /**
   * Whether the log, where it is kept and not just being trimmed, should lead through this place and does not. Of a place
   * beyond its end that is not said while more may be stored than is known.
   */
  isAstray(position: WalPosition): boolean
  /** Frames after `index`, from memory where they are recent, else from disk, coalesced up to `maxBytes`; empty at the end. Undefined when trimmed away. */
  framesAfter(index: number, maxBytes: number): Promise<readonly Frame[] | undefined>
  decodeFrame(frame: Frame): readonly WalEntry[]
  /** Undefined when the bytes are no frame or its hash is wrong. A large one is hashed in turns with others. */
  parseFrame(bytes: Buffer): Promise<Frame | undefined>
  snapshot(): SyncSnapshot

  /**
   * Applies foreign entries (already filtered to `trees`) as one durable batch with one own frame, and stores `remote`
   * with it. Resolves to false, and changes nothing, when a delta shows that this store had diverged.
   */
  applyEntries(entries: readonly WalEntry[], remote: RemotePosition): Promise<boolean>
  /**
   * Writes data of a resync without log entries: the log is cut, so that followers of this store resync too. With
   * `remote` the resync is complete and the position stored. `filtered` sets filtered hashes to new values. When there is
   * nothing to write, the log is not cut. What `copy` has taken in since the last import is written along.
   */
  importMutations(
    mutations: readonly Mutation[],
    remote?: RemotePosition,
    filtered?: readonly FilteredHash[],
    copy?: FirstCopy,
  ): Promise<void>
  /** Begins to take over whole trees of another store; this store has next to nothing of them. */
  firstCopy(): FirstCopy
  /**
   * Until the import that completes the resync, reads of replicated keys show what there was before the next import, so
   * that nobody reads half a transaction.
   */
  holdReads(): void
  /** True from the first import of a resync until the one that completes it: what is stored is half old, half new. */
  readonly isResyncing: boolean
  /** Forgets what this store followed, as a promotion does. */
  forgetRemote(): Promise<void>
  /** All of the log goes, and followers of this store resync; the data, and what it follows, stay as they are. */
  cutLog(): Promise<void>
  /** The epoch that new frames are marked with; empty until one is set. At most 36 ASCII characters. */
  readonly epoch: string
  setEpoch(epoch: string): Promise<void>
  /** The stored position of what this store follows; undefined after a cut or on a cluster that never followed. */
  readonly remotePosition: RemotePosition | undefined
}

/** Entries of another store on their way into this one, as steps of a resync. */
export interface FirstCopy {
  /** Entries and bytes that wait to be imported. */
  readonly length: number
  readonly bytes: number
  /** Keys added that were stored here before. */
  readonly replaced: ReadonlySet<string>
  /** Takes entries of a tree as `storage/sync/packed.ts` describes them, each key once. Throws when they are damaged. */
  add(tree: Tree, packed: Buffer): void
  /** Gives up what was not imported. */
  discard(): void
}

export interface RebuildOptions {
  /** Leaves the rebuilt pages in memory; they are written with the next checkpoint. */
  readonly skipFlush?: boolean
  readonly onProgress?: (done: number, total: number) => void
  readonly signal?: AbortSignal
}

/** Sub-pages whose hash is not what the stored data says, by page. */
export type CorruptPages = ReadonlyMap<number, readonly number[]>

export interface TreeReport {
  readonly pages: Readonly<Record<Tree, CorruptPages>>
  /** Losses of the data itself, in words for people: a rebuild would take them for the truth. */
  readonly damage: readonly string[]
}

/** Maintenance of the trees against the data. Both run beside normal work. */
export interface MaintainedTrees {
  /** Computes both trees from the data again and repairs what differs, on disk too. Resolves to what was wrong. */
  rebuild(options?: RebuildOptions): Promise<Readonly<Record<Tree, CorruptPages>>>
  /** Compares both trees with the data and changes nothing. */
  check(signal?: AbortSignal): Promise<Readonly<Record<Tree, CorruptPages>>>
  /** Checks the trees, the data itself, and whether the files are as they were written. */
  examine(signal?: AbortSignal): Promise<TreeReport>
  /** Spoils a page's hashes in memory, for fault injection. */
  corruptPage(tree: Tree, page: number): void
}
