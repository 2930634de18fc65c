import { createSystemRandom, type Random } from '../../base/random.js'
import { SHORT_HASH_BYTES } from '../../crypto/digest.js'
import { LogicalError } from '../../logical/errors.js'
import type { Transaction } from '../../logical/storage.js'
import { changeBytes, type SubPageChange } from '../trees/change.js'
import { type CommitListener, Committer } from '../commit/committer.js'
import type { LogEntry } from '../shared-log/shared-log.js'
import type { StoreOptions } from '../state/store-options.js'
import { EPOCH_BYTES } from '../log/frame.js'
import { FirstCopy } from '../sync/first-copy.js'
import { type KeyScan, scanKeys } from './key-scan.js'
import { SUB_PAGES_PER_PAGE } from '../trees/merkle.js'
import { WriteSet } from '../commit/overlay.js'
import type { Category, Tree } from '../keys/key-families.js'
import { dataKey } from '../keys/raw-keys.js'
import type * as Repl from '../keys/replicable.js'
import { entriesOf, type Logged, loggedOfOwn } from './logged-entries.js'
import { type StageFunction, stageCut, stageImport, stageState } from '../commit/stage.js'
import { freshHash } from '../state/store-state.js'
import { PinnedReads } from '../sync/pinned-reads.js'
import { StoreTransaction } from '../commit/store-transaction.js'
import { openSnapshot } from '../sync/sync-snapshot.js'
import { TreeScan } from '../sync/tree-scan.js'
import type { Trees } from '../trees/trees.js'

export type { StoreOptions } from '../state/store-options.js'

/** The result of `fn` of a write, and the index of this cluster's log at which the write is visible. */
export interface Written<T> {
  readonly value: T
  readonly index: number
}

const ALL_CATEGORIES: ReadonlySet<Category> = new Set(['replicated', 'local', 'ignored'])

/**
 * Stored values by key, with a log and two Merkle trees. Reads return committed data. `write` runs a function
 * immediately, over committed and queued data, and resolves when the data that the function read and wrote is
 * committed. One transaction is one log entry, unless it changes only ignored keys. Callers must not change a buffer
 * after `put`.
 */
export class Store implements Repl.ReplicableStore {
  readonly #committer: Committer
  readonly #options: StoreOptions
  readonly #random: Random
  readonly #pinned: PinnedReads
  #writable = ALL_CATEGORIES
  #fenced: ReadonlySet<Category> = new Set()

  private constructor(options: StoreOptions, random: Random, committer: Committer) {
    this.#options = options
    this.#random = random
    this.#committer = committer
    this.#pinned = new PinnedReads(options.engine)
    committer.onReopened(() => this.#pinned.invalidate())
  }

  /** Loads and verifies the content of the engine. Rejects with `LogicalError` and the index of a break in the log. */
  static async open(options: StoreOptions): Promise<Store> {
    const random = options.random ?? createSystemRandom()
    return new Store(options, random, await Committer.open(options, random))
  }

  get(key: string): Buffer | undefined {
    return this.#options.engine.get(dataKey(key), this.#pinned.snapshotFor(key))
  }

  /** Returns true if the key has a value, without reading a large value. */
  has(key: string): boolean {
    return this.#options.engine.has(dataKey(key), this.#pinned.snapshotFor(key))
  }

  /** Returns the committed keys below a prefix, in order, in chunks. */
  scanKeys(scan: KeyScan): AsyncIterable<readonly string[]> {
    return scanKeys(this.#options.engine, scan, () => this.#pinned.snapshotBelow(scan.prefix))
  }

  /** Restricts `write` to keys of these categories from now on. */
  setWritable(categories: ReadonlySet<Category>): void {
    this.#writable = categories
  }

  /** Makes `write` reject keys of these categories until `lift`. Resolves when all earlier writes are committed. */
  async fence(categories: ReadonlySet<Category>): Promise<void> {
    this.#fenced = categories
    await this.#committer.pause(async () => undefined)
  }

  lift(): void {
    this.#fenced = new Set()
  }

  /** Runs a transaction. If `fn` throws, writes nothing, and rejects with its error after its reads are committed. */
  async write<T>(fn: (tx: Transaction) => T): Promise<Written<T>> {
    this.#committer.requireWritable()
    const { overlay } = this.#committer
    const tx = new StoreTransaction((key) => this.#getQueued(key), this.#writable, this.#fenced)
    const writeSet = new WriteSet(overlay)
    let value: T
    try {
      value = fn(tx)
    } catch (error) {
      if (overlay.hasAnyOf(tx.reads.keys())) await this.#submit('own', writeSet, loggedOfOwn([]))
      throw error
    }
    for (const [key, stored] of tx.writes) writeSet.add(key, stored, tx.reads.get(key))
    return { value, index: await this.#submit('own', writeSet, loggedOfOwn(writeSet.changes)) }
  }

  /** Commits an empty batch and syncs the acknowledged position, so that all earlier writes survive a power loss. */
  async settle(): Promise<void> {
    await this.#committer.run((_batch, state) => ({ state, changes: [], filtered: [], isDurable: true }))
    await this.#options.engine.settleAcknowledged()
  }

  /** Runs `work` between two batches. Reads continue meanwhile. */
  pauseWrites<T>(work: () => Promise<T>): Promise<T> {
    return this.#committer.pause(work)
  }

  /** Applies an entry that another node wrote to the shared log. Only `shared-log/follower.ts` calls this. */
  follow(entry: LogEntry): Promise<void> {
    return this.#committer.follow(entry)
  }

  /** Commits the queued writes. Does not close the engine, which belongs to the caller. */
  close(): Promise<void> {
    this.#pinned.release()
    return this.#committer.close()
  }

  get position(): Repl.WalPosition {
    return this.#committer.state.last
  }

  get lastReplicatedIndex(): number {
    return this.#committer.state.lastReplicatedIndex
  }

  get lastShippedIndex(): number {
    return this.#committer.state.lastShippedIndex
  }

  get firstIndex(): number {
    return this.#committer.wal.base.index + 1
  }

  get trees(): Trees {
    return this.#committer.trees
  }

  get remotePosition(): Repl.RemotePosition | undefined {
    return this.#committer.state.remote
  }

  get isResyncing(): boolean {
    return this.#committer.state.isResyncing
  }

  get epoch(): string {
    return this.#committer.state.epoch
  }

  /** Bytes of the log on disk. */
  get walBytes(): number {
    return this.#committer.wal.bytes
  }

  /** Number and bytes of the log frames in memory. */
  get recentLog(): { readonly frames: number; readonly bytes: number; readonly bytesMax: number } {
    return this.#committer.wal.recent
  }

  onChange(listeners: Repl.KeyListeners): () => void {
    return this.#committer.changes.subscribe(listeners)
  }

  onCommit(listener: CommitListener): () => void {
    return this.#committer.onCommit(listener)
  }

  isAstray(position: Repl.WalPosition): boolean {
    const { wal, isEndKnown } = this.#committer
    return (isEndKnown() || position.index <= wal.last.index) && wal.isAstray(position)
  }

  hasPosition(position: Repl.WalPosition): boolean {
    return this.#committer.wal.hasPosition(position)
  }

  framesAfter(index: number, maxBytes: number): Promise<readonly Repl.Frame[] | undefined> {
    return this.#committer.wal.framesAfter(index, maxBytes)
  }

  snapshot(): Repl.SyncSnapshot {
    return openSnapshot(this.#options.engine, this.#committer)
  }

  async setEpoch(epoch: string): Promise<void> {
    if (!/^[\x21-\x7e]*$/.test(epoch) || epoch.length > EPOCH_BYTES)
      throw new Error(`invalid epoch: ${JSON.stringify(epoch)}`)
    await this.#committer.run((_batch, state) => stageState({ ...state, epoch }))
  }

  async forgetRemote(): Promise<void> {
    await this.#committer.run((_batch, state) => stageState({ ...state, remote: undefined, isResyncing: false }))
  }

  async cutLog(): Promise<void> {
    await this.#committer.run((batch, state, trees) => stageCut(batch, state, trees, freshHash(this.#random)))
  }

  async applyEntries(entries: readonly Repl.WalEntry[], remote: Repl.RemotePosition): Promise<boolean> {
    this.#committer.requireWritable()
    const writeSet = new WriteSet(this.#committer.overlay)
    const filtered: SubPageChange[] = []
    for (const { operations } of entries) {
      for (const operation of operations) {
        if (operation.filtered) {
          filtered.push({ tree: operation.category, subPage: operation.filtered.subPage, delta: operation.delta })
          continue
        }
        const { place } = writeSet.add(operation.key, operation.value)
        if (place?.tree !== operation.category || !place.delta.equals(operation.delta)) return false
      }
    }
    await this.#submit('applied', writeSet, { entries: entries.flatMap(entriesOf), filtered, remote })
    return true
  }

  async importMutations(
    mutations: readonly Repl.Mutation[],
    remote?: Repl.RemotePosition,
    filtered: readonly Repl.FilteredHash[] = [],
    copy?: FirstCopy,
  ): Promise<void> {
    this.#committer.requireWritable()
    const writeSet = new WriteSet(this.#committer.overlay)
    for (const { key, value } of mutations) writeSet.add(key, value)
    const step = copy?.take()
    const copied = step?.copied ?? { keys: [], changes: [] }
    const request = { changes: writeSet.changes, filtered, copied, remote, cutHash: freshHash(this.#random) }
    const stage: StageFunction = (batch, state, trees) => {
      if (step && step.engineVersion !== this.#options.engine.engineVersion)
        throw new LogicalError('unavailable', 'the storage was moved while a copy was prepared; try again')
      return this.#pinned.stage(stageImport(batch, state, trees, request))
    }
    await this.#committer.run(stage, writeSet.pending, step?.batch)
    // The copy has written leaves that the cache may contain as absent.
    if (step) this.#committer.overlay.forgetLeaves()
  }

  firstCopy(): FirstCopy {
    this.#committer.requireWritable()
    const { trees, log } = this.#committer
    return new FirstCopy(this.#options.engine, trees, log)
  }

  holdReads(): void {
    this.#pinned.request()
  }

  rebuild(options: Repl.RebuildOptions = {}): ReturnType<Repl.MaintainedTrees['rebuild']> {
    return new TreeScan(this.#options.engine, this.#committer).rebuild(options)
  }

  examine(signal?: AbortSignal): Promise<Repl.TreeReport> {
    return new TreeScan(this.#options.engine, this.#committer).examine(signal)
  }

  corruptPage(tree: Tree, page: number): void {
    this.trees[tree].change(page * SUB_PAGES_PER_PAGE, Buffer.alloc(SHORT_HASH_BYTES, 0xa5))
  }

  /** Reads a value for a transaction. Queued values take precedence, but pinned reads during a resync ignore them. */
  #getQueued(key: string): Buffer | undefined {
    const snapshot = this.#pinned.snapshotFor(key)
    return snapshot ? this.#options.engine.get(dataKey(key), snapshot) : this.#committer.overlay.get(key)
  }

  #submit(joins: 'own' | 'applied', { changes, pending }: WriteSet, logged: Logged): Promise<number> {
    const { entries, filtered, remote } = logged
    const bytes = changes.reduce((sum, change) => sum + changeBytes(change), 0)
    return new Promise((resolve, reject) => {
      this.#committer.submit({ joins, bytes, changes, filtered, pending, entries, remote, resolve, reject })
    })
  }
}
