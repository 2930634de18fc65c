import { linkSignals } from '../../base/linked-signal.js'
import type { SharedCommitLog } from './shared-commit-log.js'
import { type Leadership, LeadershipLost, type LogEntry, type LogPosition, type SharedLog } from './shared-log.js'

interface FollowingStore {
  /** Applies an entry, the next one. */
  follow(entry: LogEntry): Promise<void>
  /** Commits that the store is there, and nothing else. */
  settle(): Promise<void>
}

interface FollowerOptions {
  readonly store: FollowingStore
  /** Of the same store. */
  readonly commitLog: SharedCommitLog
  readonly sharedLog: SharedLog
}

/**
 * Keeps the store of one node in step with the log that it shares: it applies what others commit, until it is to lead. It does
 * one thing at a time: what is asked for next ends what is being followed.
 */
export class Follower {
  readonly #options: FollowerOptions
  readonly #listeners = new Set<() => void>()
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

  /** The last entry that was followed and that everything which remembers stored values knows of. */
  get seen(): number {
    return this.#seen
  }

  /** Called whenever `seen` has changed. Returns the unsubscribe function. */
  onSeen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /**
   * Applies everything that comes, until the signal or another call ends it. Throws `ImageNeeded` when the log does not reach
   * back: the store is to be closed, and opened again when `prepareCopy` has seen to its engine.
   */
  follow(signal: AbortSignal): Promise<void> {
    return this.#next(async (stop) => {
      using either = linkSignals([signal, stop])
      await this.#follow(either.signal)
    })
  }

  /** Applies what there is by now. Rejects as `follow` does. */
  catchUp(signal: AbortSignal): Promise<void> {
    return this.#next(async (stop) => {
      using either = linkSignals([signal, stop])
      const last = await this.#options.sharedLog.lastIndex(either.signal)
      if (this.applied.index < last) await this.#follow(either.signal, last)
    })
  }

  /**
   * Applies what is left of the log and makes the store the writer; the first entry of the term says so. Rejects with
   * `LeadershipLost` when the leadership is lost meanwhile, or something else is asked for: it may be followed again then.
   * A leadership with which it was in vain is the caller's to give up.
   */
  lead(leadership: Leadership): Promise<void> {
    return this.#next(async (stop) => {
      const lost = new AbortController()
      void leadership.lost.then(() => lost.abort())
      using either = linkSignals([lost.signal, stop])
      const { index } = leadership.end
      if (this.applied.index < index) await this.#follow(either.signal, index)
      if (!leadership.isHeld || stop.aborted) throw new LeadershipLost()
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
      for (const listener of [...this.#listeners]) listener()
      if (entry.index >= last) return
    }
  }
}
