import type { Random } from '../../base/random.js'
import { turnFor } from '../../base/turn.js'
import { LogicalError } from '../../logical/errors.js'
import { ChangeFeed } from './change-feed.js'
import { CommitQueue } from './commit-queue.js'
import { type CommitLog, LocalCommitLog } from '../commit-log/commit-log.js'
import { SharedCommitLog } from '../commit-log/shared-commit-log.js'
import { decodeBatch } from '../commit-log/raw-batch.js'
import { type LogEntry, NotApplied, storeClosed } from '../commit-log/shared-log.js'
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
 * The single writer. Everything that changes the engine goes through its queue, one batch at a time; state, trees, log
 * and listeners follow once a batch is durable. When a batch fails nothing more is written until the engine was opened
 * again and read anew, unless it failed before anything of it reached the engine; reads go on.
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
  /** Keys of the batch that has failed: what they hold now is known when everything was read anew. */
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

  /** The outcome of the batch that is being written; an engine snapshot may already hold it. */
  get inFlight(): Staged | undefined {
    return this.#inFlight
  }

  /** False while a batch is being written, or was when the storage failed: what is stored may be further than the log. */
  readonly isEndKnown = (): boolean => this.#inFlight === undefined && this.#failure === undefined

  onCommit(listener: CommitListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Called when the engine was opened again: snapshots taken before are lost. Returns the keys that read otherwise by that. */
  onReopened(listener: () => Iterable<string>): void {
    this.#onReopened = listener
  }

  /** Throws what a write would be refused with now. */
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

  /** Commits what `stage` puts into a batch of its own, or into one that was filled meanwhile. */
  async run(stage: StageFunction, pending: readonly Pending[] = [], batch?: EngineBatch): Promise<void> {
    this.requireWritable()
    await new Promise<void>((resolve, reject) => {
      this.submit({ joins: undefined, bytes: 0, pending, stage, batch, resolve, reject })
    })
  }

  /** Runs `work` while nothing is being written, and nothing is until it has ended. What it throws concerns nobody else. */
  async pause<T>(work: () => Promise<T>): Promise<T> {
    this.requireWritable()
    return new Promise<T>((resolve, reject) => {
      const run = () => work().then(resolve, reject)
      this.submit({ joins: undefined, bytes: 0, pending: [], work: run, reject })
    })
  }

  /**
   * Applies what another node has committed; everything follows as after a commit of this one. Rejects as the engine does, and
   * then takes no more until it was opened again.
   */
  async follow(entry: LogEntry): Promise<void> {
    this.#requireOpen()
    await new Promise<void>((resolve, reject) => {
      const work = () => this.#follow(entry).then(resolve)
      this.submit({ joins: undefined, bytes: 0, pending: [], work, reject })
    })
  }

  /** Pins the log: it is trimmed at its hard bound alone until the result is called. */
  pin(): () => void {
    return this.#trimmer.pin()
  }

  /** Finishes what is queued and leaves a checkpoint. The engine stays open: it is not ours. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    const isWriter = this.#failure === undefined && this.log.refusal === undefined
    const last = isWriter ? this.run(stageCheckpoint) : undefined
    this.#isClosed = true
    await last?.catch((error: unknown) => this.#options.log.warn('no checkpoint at close', { error }))
    await this.#queue.drained()
    this.#trimmer.close()
    await this.#recovery.end()
    await this.#settler.close()
  }

  #commit(units: readonly Unit[]): Promise<void> {
    const [first] = units
    return first && isPause(first) ? first.work() : this.#write(units.filter(isWrite))
  }

  async #write(units: readonly Write[]): Promise<void> {
    // Large transactions have kept their writer busy in this turn already.
    const bytes = bytesOf(units)
    await turnFor(bytes)
    const batch = findBatch(units[0]) ?? this.log.batch()
    const before = this.state
    const staged = this.#stage(units, batch)
    // An engine holds on to a batch until it is written or given up.
    if (staged === 'rejected' || staged === undefined) batch.discard()
    if (staged === 'rejected') return
    if (staged !== undefined) {
      const state = { ...staged.state, revision: before.revision + 1 }
      this.#inFlight = { ...staged, state }
      batch.put(STATE_KEY, serializeState(state))
      const startMs = this.#options.clock.monotonic()
      const isDurable = this.#options.syncWrites || staged.isDurable === true
      try {
        await turnFor(bytes)
        await this.log.commit(batch, { isDurable })
      } catch (error) {
        if (isUntouched(error)) throw error
        for (const { key } of staged.commit?.mutations ?? []) this.#tried.add(key)
        throw error
      } finally {
        this.#inFlight = undefined
      }
      // Commits that were not made durable may be lost with the power, and are no loss to complain of.
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
    if (!(log instanceof SharedCommitLog)) throw new Error('a store by itself follows nobody')
    // A commit of the time when this store led may have applied it meanwhile.
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

  /** An error before the batch is written rejects these units alone. */
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
        : new LogicalError('unavailable', 'the storage failed', { cause: error })
    this.#options.log.error('storage writes are refused until the storage was opened again', { error })
    this.#recovery.begin()
  }

  /** The failed batch may have reached the disk all the same, so everything is read anew. */
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

  /** Whoever remembers what a key had reads it again: nobody was told that it has changed. */
  async #announceFound(knownIndex: number): Promise<void> {
    for (const frame of (await this.wal.framesAfter(knownIndex, Number.MAX_SAFE_INTEGER)) ?? []) {
      const mutations = decodeFrame(frame).flatMap(({ operations }) => operations.filter(({ filtered }) => !filtered))
      for (const { key } of mutations) this.#tried.delete(key)
      this.#announce({ lastIndex: frame.lastIndex, mutations, origin: 'recovered' }, frame)
    }
    // In no frame: what is not logged, and what a resync brought.
    const mutations = [...this.#tried].map((key) => ({ key }))
    this.#tried.clear()
    if (mutations.length > 0) {
      this.#announce({ lastIndex: this.state.last.index, mutations, origin: 'recovered' }, undefined)
    }
  }
}
