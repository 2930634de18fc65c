import { Listeners } from '../../base/listeners.js'
import { linkSignals } from '../../base/linked-signal.js'
import type { SharedCommitLog } from './shared-commit-log.js'
import { type Leadership, LeadershipLost, type LogEntry, type LogPosition, type SharedLog } from './shared-log.js'

interface FollowedStore {
  follow(entry: LogEntry): Promise<void>
  /** Commits an empty batch, which becomes the first entry of this leader in the log. */
  settle(): Promise<void>
}

interface FollowerOptions {
  readonly store: FollowedStore
  /** The commit log of `store`. */
  readonly commitLog: SharedCommitLog
  readonly sharedLog: SharedLog
}

/**
 * Applies the entries of other nodes to the store of this node, until this node becomes the leader. Only one operation
 * runs at a time: each call of a method stops the previous call.
 */
export class Follower {
  readonly #options: FollowerOptions
  readonly #listeners = new Listeners()
  /** Calls the listener when `seen` changes. Returns the unsubscribe function. */
  readonly onSeen = this.#listeners.add
  #seen: number
  #stop = new AbortController()
  #running: Promise<unknown> = Promise.resolve()

  constructor(options: FollowerOptions) {
    this.#options = options
    this.#seen = this.applied.index
  }

  get applied(): LogPosition {
    return this.#options.commitLog.applied
  }

  /** The index of the last entry that was applied and announced to the caches of stored values. */
  get seen(): number {
    return this.#seen
  }

  /**
   * Applies existing and new entries until the signal or another call stops it. Rejects with `ImageNeeded` if the log
   * no longer has the next entry. The caller must then close the store, run `prepareCopy`, and open the store again.
   */
  follow(signal: AbortSignal): Promise<void> {
    return this.#next(async (stop) => {
      using either = linkSignals([signal, stop])
      await this.#follow(either.signal)
    })
  }

  /** Applies all entries that exist now. Rejects like `follow`. */
  catchUp(signal: AbortSignal): Promise<void> {
    return this.#next(async (stop) => {
      using either = linkSignals([signal, stop])
      const last = await this.#options.sharedLog.lastIndex(either.signal)
      if (this.applied.index < last) await this.#follow(either.signal, last)
    })
  }

  /**
   * Applies the remaining entries and makes the store the writer. Commits an empty batch as the first entry of the
   * term. Rejects with `LeadershipLost` if the leadership is lost or another call stops this call. The caller can then
   * call `follow`. After other errors, the caller must resign the leadership.
   */
  lead(leadership: Leadership): Promise<void> {
    return this.#next(async (stop) => {
      const lost = new AbortController()
      void leadership.lost.then(() => lost.abort())
      using either = linkSignals([lost.signal, stop])
      const { index } = leadership.end
      if (this.applied.index < index) await this.#follow(either.signal, index)
      if (leadership.isOver || stop.aborted) throw new LeadershipLost()
      this.#options.commitLog.lead(leadership)
      await this.#options.store.settle()
    })
  }

  #next(work: (stop: AbortSignal) => Promise<void>): Promise<void> {
    this.#stop.abort()
    const stop = new AbortController()
    this.#stop = stop
    const done = this.#running.then(() => work(stop.signal))
    this.#running = done.catch(() => undefined)
    return done
  }

  async #follow(signal: AbortSignal, last = Number.POSITIVE_INFINITY): Promise<void> {
    const { store, sharedLog } = this.#options
    for await (const entry of sharedLog.follow(this.applied, signal)) {
      await store.follow(entry)
      this.#seen = entry.index
      this.#listeners.emit()
      if (entry.index >= last) return
    }
  }
}
