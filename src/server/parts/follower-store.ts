import { awaitChange } from '../../base/await-change.js'
import type { Facilities } from '../../base/facilities.js'
import type { Clock } from '../../base/clock.js'
import { limitSignal } from '../../base/linked-signal.js'
import { prepareCopy } from '../../storage/shared-log/copy.js'
import { Follower } from '../../storage/shared-log/follower.js'
import { SharedCommitLog } from '../../storage/shared-log/shared-commit-log.js'
import { ImageNeeded, type Leadership, type SharedLog } from '../../storage/shared-log/shared-log.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import { openStore, type StoreSurroundings } from '../data/open-store.js'
import type { Store } from '../../storage/store/store.js'

interface FollowerStoreOptions extends StoreSurroundings, Pick<Facilities, 'clock' | 'log'> {
  readonly source: EngineSource
  readonly sharedLog: SharedLog
  /** Called when the store can no longer follow the log, so that everything must be reopened. */
  readonly onBroken: (reason: string) => void
}

/** Pause in milliseconds before the store is reopened: after a failure, or after the data was replaced. */
const PAUSE_MS = 500
const REPLACED_PAUSE_MS = 20

/**
 * The store of a node in a multi-node cluster. It follows the shared log until this node becomes the leader, or until
 * the store is closed.
 */
export class FollowerStore {
  readonly store: Store
  readonly #sharedLog: SharedLog
  readonly #follower: Follower
  readonly #clock: Clock
  readonly #stop = new AbortController()
  readonly #following: Promise<void>

  private constructor(options: FollowerStoreOptions, store: Store, follower: Follower) {
    this.store = store
    this.#sharedLog = options.sharedLog
    this.#follower = follower
    this.#clock = options.clock
    this.#following = this.#follow(options)
  }

  /** Opens the store. First reads all data from the shared log if the log cannot bring the engine up to date. */
  static async open(options: FollowerStoreOptions, signal: AbortSignal): Promise<FollowerStore> {
    const { source, sharedLog, log } = options
    if (await prepareCopy(source, sharedLog, signal)) log.info('the data of the cluster was read from the shared log')
    const { engine } = source
    const commitLog = new SharedCommitLog(engine)
    const store = await openStore(engine, { ...options, commitLog })
    const follower = new Follower({ store, commitLog, sharedLog })
    try {
      // Pending entries are applied first, because one of them may have initialized the cluster.
      await follower.catchUp(signal)
      return new FollowerStore(options, store, follower)
    } catch (error) {
      await store.close()
      if (error instanceof ImageNeeded) return FollowerStore.open(options, signal)
      throw error
    }
  }

  get appliedIndex(): number {
    return this.#follower.applied.index
  }

  /**
   * Waits until reads of this copy include an entry. Also resolves after `waitMs` milliseconds, or when the copy stops
   * following.
   */
  async reach(index: number, waitMs: number): Promise<void> {
    if (this.#follower.seen >= index || this.#stop.signal.aborted) return
    const limits = { clock: this.#clock, timeoutMs: waitMs, signal: this.#stop.signal }
    const isSeen = () => this.#follower.seen >= index
    await awaitChange(this.#follower.onSeen, isSeen, limits).catch(() => undefined)
  }

  /**
   * Waits until reads of this copy include all current entries of the log. Resolves to false after `waitMs`
   * milliseconds, or when the copy stops following.
   */
  async reachEnd(waitMs: number): Promise<boolean> {
    using limited = limitSignal(this.#clock, waitMs, this.#stop.signal, 'the end was not reached in time')
    const sinceMs = this.#clock.monotonic()
    try {
      const last = await this.#sharedLog.lastIndex(limited.signal)
      await this.reach(last, Math.max(0, waitMs - (this.#clock.monotonic() - sinceMs)))
      return this.#follower.seen >= last
    } catch {
      return false
    }
  }

  /** Applies the remaining entries, and makes the store writable. Rejects if the leadership is lost. */
  lead(leadership: Leadership): Promise<void> {
    return this.#follower.lead(leadership)
  }

  /** Stops applying entries. Does not close the store, which belongs to the caller. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the store is closed'))
    await this.#following
  }

  async #follow({ clock, log, onBroken }: FollowerStoreOptions): Promise<void> {
    const { signal } = this.#stop
    try {
      await this.#follower.follow(signal)
    } catch (error) {
      if (signal.aborted) return
      log.warn('the local copy cannot follow the shared log: reopening the store', { error })
      const pauseMs = error instanceof ImageNeeded ? REPLACED_PAUSE_MS : PAUSE_MS
      await clock.sleep(pauseMs, signal).catch(() => undefined)
      if (!signal.aborted) onBroken('the shared log could not be followed')
    }
  }
}
