import type { Random } from '../../base/random.js'
import { yieldToEventLoop } from '../../base/turn.js'
import { LogicalError } from '../../logical/errors.js'
import { ChangeFeed } from './change-feed.js'
import { CommitQueue } from './commit-queue.js'
import { type CommitLog, LocalCommitLog } from '../shared-log/commit-log.js'
import { SharedCommitLog } from '../shared-log/shared-commit-log.js'
import { decodeBatch } from '../shared-log/raw-batch.js'
import { type LogEntry, NotApplied, storeClosed } from '../shared-log/shared-log.js'
import type { EngineBatch } from '../engine/engine.js'
import { decodeFrame } from '../log/frame.js'
import { type Loaded, loadStore } from './load.js'
import { LeafFinder } from '../trees/leaf-finder.js'
import { Overlay, type Pending } from './overlay.js'
import { STATE_KEY } from '../keys/raw-keys.js'
import type { Commit, Frame } from '../keys/replicable.js'
import { readFollowed } from './followed.js'
import { resolveLogged, type StageFunction, type Staged, stageLogged } from './stage.js'
import { bytesOf, findBatch, isLogged, isPause, isUntouched, isWrite, type Unit, type Write } from './units.js'
import { type StoreState, serializeState } from '../state/store-state.js'
import type { Trees } from '../trees/trees.js'
import { stageCheckpoint } from './stage-trim.js'
import { Recovery } from './recovery.js'
import { Settler } from './settler.js'
import type { CompleteStoreOptions, StoreOptions } from '../state/store-options.js'
import { Trimmer } from './trimmer.js'
import type { Wal } from '../log/wal.js'

export type CommitListener = (commit: Commit, frame: Frame | undefined) => void

/**
 * The single writer. All changes of the engine go through its queue, one batch at a time. After a batch is written, the
 * writer updates state, trees and log in memory, and calls the listeners. If a batch fails after it reached the engine,
 * the writer rejects writes until the engine is reopened and its content is loaded. Reads continue.
 */
export class Committer {
  readonly overlay: Overlay
  readonly changes: ChangeFeed
  readonly log: CommitLog
  readonly #options: CompleteStoreOptions
  readonly #random: Random
  readonly #queue: CommitQueue<Unit>
  readonly #listeners = new Set<CommitListener>()
  readonly #trimmer: Trimmer
  readonly #settler: Settler
  readonly #recovery: Recovery
  #loaded: Loaded
  #inFlight: Staged | undefined
  /** Keys of the failed batch. Their values are unknown until the engine is reopened and its content is loaded. */
  readonly #tried = new Set<string>()
  #failure: LogicalError | undefined
  #isClosed = false
  #onReopened: () => Iterable<string> = () => []

  private constructor(options: CompleteStoreOptions, random: Random, loaded: Loaded) {
    this.#options = options
    this.log = options.commitLog
    this.#random = random
    this.#loaded = loaded
    this.changes = new ChangeFeed(options.log)
    this.overlay = new Overlay(
      options.engine,
      new LeafFinder(options.engine, (tree, subPage) => this.trees.isEmpty(tree, subPage)),
    )
    this.#queue = new CommitQueue<Unit>(
      (units) => this.#commit(units),
      (error) => this.#fail(error),
    )
    this.#trimmer = new Trimmer({
      ...options,
      wal: () => this.wal,
      isWritable: () => !this.#isClosed && this.#failure === undefined && this.log.refusal === undefined,
      run: (stage) => this.run(stage),
    })
    this.#trimmer.schedule()
    this.#settler = new Settler(options)
    this.#listeners.add(() => this.#settler.schedule())
    this.#recovery = new Recovery({ ...options, attempt: () => this.#recover() })
  }

  static async open(given: StoreOptions, random: Random): Promise<Committer> {
    const options = { ...given, commitLog: given.commitLog ?? new LocalCommitLog(given.engine) }
    return new Committer(options, random, await loadStore(options, random))
  }

  get state(): StoreState {
    return this.#loaded.state
  }

  get trees(): Trees {
    return this.#loaded.trees
  }

  get wal(): Wal {
    return this.#loaded.wal
  }

  /** The changes of the batch that is being written. An engine snapshot may already contain this batch. */
  get inFlight(): Staged | undefined {
    return this.#inFlight
  }

  /** Returns false during a write and after a failed write: the data on disk may be ahead of the log in memory. */
  readonly isEndKnown = (): boolean => this.#inFlight === undefined && this.#failure === undefined

  onCommit(listener: CommitListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Sets the listener that runs after the engine is reopened. It returns the keys whose values have changed. */
  onReopened(listener: () => Iterable<string>): void {
    this.#onReopened = listener
  }

  /** Throws the error that a write would get now. Returns if the store accepts writes. */
  requireWritable(): void {
    this.#requireOpen()
    const { refusal } = this.log
    if (refusal !== undefined) throw refusal
  }

  #requireOpen(): void {
    if (this.#isClosed) throw storeClosed(this.log)
    if (this.#failure !== undefined) throw this.#failure
  }

  submit(unit: Unit): void {
    this.overlay.publish(unit.pending)
    this.#queue.push(unit)
  }

  /** Commits the operations of `stage`. Adds them to `batch`, or to a new batch if `batch` is undefined. */
  async run(stage: StageFunction, pending: readonly Pending[] = [], batch?: EngineBatch): Promise<void> {
    this.requireWritable()
    await new Promise<void>((resolve, reject) => {
      this.submit({ joins: undefined, bytes: 0, pending, stage, batch, resolve, reject })
    })
  }

  /** Runs `work` between two batches. If `work` rejects, the call rejects, but other units continue. */
  async pause<T>(work: () => Promise<T>): Promise<T> {
    this.requireWritable()
    return new Promise<T>((resolve, reject) => {
      const run = () => work().then(resolve, reject)
      this.submit({ joins: undefined, bytes: 0, pending: [], work: run, reject })
    })
  }

  /** Applies an entry that another node wrote to the shared log. A failure stops the writer, like a failed batch. */
  async follow(entry: LogEntry): Promise<void> {
    this.#requireOpen()
    await new Promise<void>((resolve, reject) => {
      const work = () => this.#follow(entry).then(resolve)
      this.submit({ joins: undefined, bytes: 0, pending: [], work, reject })
    })
  }

  /** Pins the log. Until the caller calls the returned function, the log is trimmed only to its hard limit. */
  pin(): () => void {
    return this.#trimmer.pin()
  }

  /** Commits the queued units and writes a checkpoint. The engine stays open, because the caller owns and closes it. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    const isWriter = this.#failure === undefined && this.log.refusal === undefined
    const last = isWriter ? this.run(stageCheckpoint) : undefined
    this.#isClosed = true
    await last?.catch((error: unknown) => this.#options.log.warn('cannot write a checkpoint at close', { error }))
    await this.#queue.drained()
    this.#trimmer.close()
    await this.#recovery.end()
    await this.#settler.close()
    // A lab parses this log line to find the last log position before an orderly stop.
    if (isWriter) this.#options.log.info('storage closed', { last_dr_wal: this.state.lastShippedIndex })
  }

  #commit(units: readonly Unit[]): Promise<void> {
    const [first] = units
    return first && isPause(first) ? first.work() : this.#write(units.filter(isWrite))
  }

  async #write(units: readonly Write[]): Promise<void> {
    // Large transactions have already blocked the event loop for a long time.
    const bytes = bytesOf(units)
    await yieldToEventLoop(bytes)
    const batch = findBatch(units[0]) ?? this.log.batch()
    const before = this.state
    const staged = this.#stage(units, batch)
    // An unwritten batch must be discarded, because the engine holds its memory until then.
    if (staged === 'rejected' || staged === undefined) batch.discard()
    if (staged === 'rejected') return
    if (staged !== undefined) {
      const state = { ...staged.state, revision: before.revision + 1 }
      this.#inFlight = { ...staged, state }
      batch.put(STATE_KEY, serializeState(state))
      const startMs = this.#options.clock.monotonic()
      const isDurable = this.#options.syncWrites || staged.isDurable === true
      try {
        await yieldToEventLoop(bytes)
        await this.log.commit(batch, { isDurable })
      } catch (error) {
        if (isUntouched(error)) throw error
        for (const { key } of staged.commit?.mutations ?? []) this.#tried.add(key)
        throw error
      } finally {
        this.#inFlight = undefined
      }
      // A power loss can undo a commit without sync. Recording such a commit would make the next start report data
      // loss.
      if (isDurable && this.log.isLocal)
        this.#options.engine.acknowledge({ revision: state.revision, index: state.last.index })
      this.#options.recorder?.record('vault.wal.persistWALs', this.#options.clock.monotonic() - startMs)
      this.#adopt({ ...staged, state })
    }
    for (const unit of units) this.overlay.settle(unit.pending)
    if (staged?.commit !== undefined) this.#announce(staged.commit, staged.frame)
    resolveLogged(units.filter(isLogged), before, this.state)
    for (const unit of units) if (!isLogged(unit)) unit.resolve()
    this.#trimmer.schedule()
  }

  async #follow(entry: LogEntry): Promise<void> {
    const { log } = this
    if (!(log instanceof SharedCommitLog)) throw new Error('only a store with a shared log can follow a leader')
    // If this node wrote the entry as the leader, its own commit has applied the entry already.
    if (entry.index <= log.applied.index) return
    const operations = decodeBatch(entry)
    const { staged, leaves } = readFollowed(operations, this.#options.engine, this.#loaded)
    this.#inFlight = staged
    try {
      await log.apply(entry, operations)
    } finally {
      this.#inFlight = undefined
    }
    this.#adopt(staged)
    this.overlay.settle(leaves)
    if (staged.commit !== undefined) this.#announce(staged.commit, staged.frame)
  }

  /** Adds units to a batch. If this fails, rejects only these units, because nothing was written. */
  #stage(units: readonly Write[], batch: EngineBatch): Staged | undefined | 'rejected' {
    try {
      const first = units[0]
      if (first !== undefined && !isLogged(first)) return first.stage(batch, this.state, this.trees)
      const nowMs = this.#options.clock.now()
      return stageLogged(batch, this.state, this.trees, units.filter(isLogged), nowMs)
    } catch (error) {
      for (const unit of units) {
        this.overlay.drop(unit.pending)
        unit.reject(error)
      }
      return 'rejected'
    }
  }

  #adopt(staged: Staged): void {
    const { trees, wal } = this.#loaded
    this.#loaded = { ...this.#loaded, state: staged.state }
    trees.apply(staged.changes)
    for (const filtered of staged.filtered) trees.setFiltered(filtered)
    if (staged.frame !== undefined) wal.append(staged.frame)
    else if (staged.state.last.index !== wal.last.index) wal.reset(staged.state.base)
    staged.after?.()
  }

  #announce(commit: Commit, frame: Frame | undefined): void {
    this.changes.announce(commit)
    for (const listener of this.#listeners) {
      try {
        listener(commit, frame)
      } catch (error) {
        this.#options.log.error('a commit listener failed', { error })
      }
    }
  }

  #fail(error: unknown): void {
    this.overlay.clear()
    if (isUntouched(error)) {
      this.#options.log.warn('a batch was not written', { error })
      return
    }
    this.#failure =
      error instanceof LogicalError && !(error instanceof NotApplied)
        ? error
        : new LogicalError('unavailable', 'storage failed: writes are rejected until it is reopened', { cause: error })
    this.#options.log.error('storage writes are rejected until the storage is reopened', { error })
    this.#recovery.begin()
  }

  /** Reopens the engine and loads its content again, because the failed batch may have reached the disk. */
  async #recover(): Promise<void> {
    const knownIndex = this.state.last.index
    await this.#options.engine.reopen()
    for (const key of this.#onReopened()) this.#tried.add(key)
    this.log.reopened()
    this.#loaded = await loadStore(this.#options, this.#random)
    await this.#announceFound(knownIndex)
    this.#failure = undefined
    this.#options.log.info('storage writes are accepted again', { lastIndex: this.state.last.index })
    this.#trimmer.schedule()
  }

  /** Announces the keys that the failed batch may have changed, so that caches read these keys again. */
  async #announceFound(knownIndex: number): Promise<void> {
    for (const frame of (await this.wal.framesAfter(knownIndex, Number.MAX_SAFE_INTEGER)) ?? []) {
      const mutations = decodeFrame(frame).flatMap(({ operations }) => operations.filter(({ filtered }) => !filtered))
      for (const { key } of mutations) this.#tried.delete(key)
      this.#announce({ lastIndex: frame.lastIndex, mutations, origin: 'recovered' }, frame)
    }
    // The remaining keys are in no frame: frames contain neither ignored keys nor keys of a resync.
    const mutations = [...this.#tried].map((key) => ({ key }))
    this.#tried.clear()
    if (mutations.length > 0) {
      this.#announce({ lastIndex: this.state.last.index, mutations, origin: 'recovered' }, undefined)
    }
  }
}
