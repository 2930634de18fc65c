import { addAbortListener } from 'node:events'
import { Backoff } from '../../../base/backoff.js'
import type { Log } from '../../../base/log.js'
import { positionOf } from '../raw-batch.js'
import { ImageNeeded } from '../shared-log.js'
import type * as Shared from '../shared-log.js'
import { EtcdAnnouncement } from './etcd-announcement.js'
import { campaign } from './etcd-campaign.js'
import { EtcdConnection, type EtcdConnectionOptions } from './etcd-connection.js'
import { findForgettable, forgetUpTo } from './etcd-forgetting.js'
import type { LogBounds } from './log-compactor.js'
import { EtcdLayout } from './etcd-layout.js'
import { EtcdWatcher } from './etcd-watcher.js'
import { EtcdReader } from './etcd-reader.js'

export interface EtcdSharedLogOptions extends EtcdConnectionOptions {
  readonly log: Log
  /** Prefix of all keys of this cluster in etcd. */
  readonly prefix: string
  readonly leaseMs: number
  readonly bounds?: Partial<LogBounds>
  /** True if this node runs its own etcd member. Only this node then defragments the files of the member. */
  readonly isOwnMember?: boolean
}

/** Backoff between checks whether the leader has deleted replaced data. */
const FORGETTING_BACKOFF = { initialMs: 50, maxMs: 5000 }
/** Maximum time in milliseconds that a node waits for this deletion before it reads the new data. */
const FORGETTING_MS_MAX = 60_000

const MIB = 1024 * 1024
const BOUNDS: LogBounds = {
  entriesFolded: 8192,
  bytesFolded: 64 * MIB,
  entriesMax: 65_536,
  bytesMax: 256 * MIB,
  historyMs: 120_000,
}

/** A node's connection to the log of its cluster in etcd 3.4 or later. */
export class EtcdSharedLog implements Shared.SharedLog {
  readonly #options: EtcdSharedLogOptions
  readonly #layout: EtcdLayout
  readonly #connection: EtcdConnection
  readonly #watcher: EtcdWatcher
  readonly #reader: EtcdReader
  readonly #announcement: EtcdAnnouncement
  #leadership: Shared.Leadership | undefined

  private constructor(options: EtcdSharedLogOptions) {
    const { clock, leaseMs } = options
    this.#options = options
    this.#layout = new EtcdLayout(options.prefix)
    this.#connection = new EtcdConnection(options)
    this.#watcher = new EtcdWatcher({ connection: this.#connection, layout: this.#layout, clock, pollMs: leaseMs })
    this.#reader = new EtcdReader(this.#connection, this.#layout)
    this.#announcement = new EtcdAnnouncement({ connection: this.#connection, layout: this.#layout, clock, leaseMs })
  }

  /** Connects to etcd. Resolves when a member has responded. Rejects with the signal's reason, or with etcd's error. */
  static async open(options: EtcdSharedLogOptions, signal: AbortSignal): Promise<EtcdSharedLog> {
    const shared = new EtcdSharedLog(options)
    using _ = addAbortListener(signal, () => shared.#connection.close())
    try {
      signal.throwIfAborted()
      await shared.#watcher.start()
      return shared
    } catch (error) {
      shared.#stop()
      throw signal.aborted ? signal.reason : error
    }
  }

  get leader(): Shared.LeaderRecord | undefined {
    return this.#watcher.leader
  }

  onLeader(listener: (leader: Shared.LeaderRecord | undefined) => void): () => void {
    let term = this.leader?.term
    return this.#watcher.onChange(() => {
      if (this.leader?.term === term) return
      term = this.leader?.term
      listener(this.leader)
    })
  }

  announce(node: Shared.NodeRecord): Promise<void> {
    return this.#announcement.announce(node)
  }

  nodes(): Promise<readonly Shared.AnnouncedNode[]> {
    return this.#announcement.nodes()
  }

  async campaign(candidate: Shared.Candidate, signal: AbortSignal): Promise<Shared.Leadership> {
    const parts = { connection: this.#connection, layout: this.#layout, watcher: this.#watcher, reader: this.#reader }
    const { clock, random, log, leaseMs, bounds } = this.#options
    const options = { ...parts, clock, random, log, leaseMs, bounds: { ...BOUNDS, ...bounds } }
    this.#leadership = await campaign(options, candidate, signal)
    return this.#leadership
  }

  async *follow(after: Shared.LogPosition, signal: AbortSignal): AsyncGenerator<Shared.LogEntry> {
    const ends = AbortSignal.any([signal, this.#connection.ended])
    try {
      if (!(await this.#reader.reaches(after, ends))) {
        throw new ImageNeeded(`the log does not reach back to entry ${after.index}`)
      }
      for (let position = after; ; ) {
        const changed = this.#watcher.next(ends)
        for (const entry of await this.#reader.entriesAfter(position, ends)) {
          if (ends.aborted) return
          position = positionOf(entry)
          yield entry
        }
        if (ends.aborted) return
        if (this.#watcher.end.index <= position.index) await changed
      }
    } catch (error) {
      if (!ends.aborted) throw error
    }
  }

  lastIndex(signal: AbortSignal): Promise<number> {
    return this.#reader.lastIndex(signal)
  }

  reaches(applied: Shared.LogPosition, signal: AbortSignal): Promise<boolean> {
    return this.#reader.reaches(applied, signal)
  }

  readImage(signal: AbortSignal): Promise<Shared.LogImage> {
    return this.#reader.readImage(signal)
  }

  async forgetReplaced(signal: AbortSignal): Promise<void> {
    if (!this.#options.isOwnMember) return
    const { clock, log } = this.#options
    const untilMs = clock.monotonic() + FORGETTING_MS_MAX
    if (await this.#forget(signal, () => this.leader !== undefined && clock.monotonic() < untilMs)) return
    // The leader has not deleted the data in time, or there is no leader. This node does not wait for a leader, because
    // it may become the leader itself.
    log.warn('replaced data stays in the files of etcd until a leader deletes it')
    this.#forget(this.#connection.ended, () => true).catch((error: unknown) => {
      if (!this.#connection.ended.aborted) log.error('cannot remove replaced data from the files of etcd', { error })
    })
  }

  /**
   * Removes replaced data from the member's files after the leader has deleted the data. Checks repeatedly while
   * `isAwaited` returns true, and otherwise resolves to false.
   */
  async #forget(signal: AbortSignal, isAwaited: () => boolean): Promise<boolean> {
    const { clock, random, log } = this.#options
    const connection = this.#connection
    const ended = AbortSignal.any([signal, connection.ended])
    const options = { connection, layout: this.#layout, clock, random, log, ended }
    const backoff = new Backoff(FORGETTING_BACKOFF, random)
    for (;;) {
      const found = await findForgettable(options)
      if (found === 'nothing') return true
      if (found !== 'later') {
        await forgetUpTo(options, found.revision)
        return true
      }
      if (!isAwaited()) return false
      await clock.sleep(backoff.next(), ended)
    }
  }

  async close(): Promise<void> {
    if (this.#connection.ended.aborted) return
    const late = new AbortController()
    const patience = this.#options.clock.setTimer(this.#options.requestTimeoutMs, () => late.abort())
    await this.#announcement.end(late.signal)
    patience.cancel()
    if (this.#leadership?.isHeld) await this.#leadership.resign()
    this.#stop()
  }

  #stop(): void {
    this.#watcher.stop()
    this.#connection.close()
  }
}
