import type { ClientDuplexStream } from '@grpc/grpc-js'
import { nextChange } from '../../../base/await-change.js'
import type { Clock, Timer } from '../../../base/clock.js'
import { Listeners } from '../../../base/listeners.js'
import type { LeaderRecord } from '../shared-log.js'
import type { KeyValue, WatchResponse } from './etcd-api.js'
import type { EtcdConnection } from './etcd-connection.js'
import { after, type EtcdLayout, parseHeartbeat, parseMark, START_MARK, type LogMark } from './etcd-layout.js'

interface EtcdWatcherOptions {
  readonly connection: EtcdConnection
  readonly layout: EtcdLayout
  readonly clock: Clock
  /**
   * Polling interval. Polling continues beside the watch, because a watch over a silently dropped connection reports
   * nothing.
   */
  readonly pollMs: number
}

const leaderOf = ({ value, create_revision }: KeyValue): LeaderRecord => ({
  ...(JSON.parse(value.toString('utf8')) as Omit<LeaderRecord, 'term'>),
  term: Number(create_revision),
})

/** The last heartbeat of the leader. */
interface Heard {
  /** The revision at which the heartbeat was written. */
  readonly revision: string
  /** When this node received the heartbeat, by its own monotonic clock. */
  readonly heardMs: number
  readonly leaseMs: number
}

/** Tracks the end of the log and the leader with a watch. */
export class EtcdWatcher {
  leader: LeaderRecord | undefined
  end: LogMark = START_MARK
  #heard: Heard | undefined
  #silence: Timer | undefined
  readonly #options: EtcdWatcherOptions
  readonly #news = new Listeners()
  /**
   * Calls the listener after each change, and when the leader has sent no heartbeat for its lease. Returns the
   * unsubscribe function.
   */
  readonly onNews = this.#news.add
  readonly #poll: Timer
  #isChecking = false
  #stream: ClientDuplexStream<object, WatchResponse> | undefined

  constructor(options: EtcdWatcherOptions) {
    this.#options = options
    this.#poll = options.clock.setRepeating(options.pollMs, () => void this.#check())
  }

  /** Resolves when the initial state is read. Tracks changes from then on. */
  async start(): Promise<void> {
    const revision = await this.#read()
    void this.#follow(revision)
  }

  /**
   * The revision of the last heartbeat, if none arrived for a whole lease. By its own clock, the leader has then lost
   * the lease. etcd may keep the lease longer: after a leader change among its members, every lease restarts with its
   * full time.
   */
  get silentSince(): string | undefined {
    const heard = this.#heard
    return heard && this.#options.clock.monotonic() >= heard.heardMs + heard.leaseMs ? heard.revision : undefined
  }

  stop(): void {
    this.#poll.cancel()
    this.#silence?.cancel()
    this.#stream?.cancel()
  }

  /** Resolves at the next change, or when the signal is aborted. */
  next(ends: AbortSignal): Promise<void> {
    return nextChange(this.onNews, ends)
  }

  /** Reads the state. Resolves to the revision of the read. */
  async #read(): Promise<string> {
    const { connection, layout } = this.#options
    const { kvs, header } = await connection.ask('Range', { key: layout.end, range_end: after(layout.leader) })
    const find = (key: Buffer) => kvs.find((one) => one.key.equals(key))
    const leader = find(layout.leader)
    this.#hear(find(layout.heartbeat))
    this.#learn(leader && leaderOf(leader), parseMark(find(layout.end)?.value))
    return header.revision
  }

  /**
   * Polls for a change that the watch should have reported. If there is one, replaces the watch. Polls do not overlap.
   */
  async #check(): Promise<void> {
    if (this.#isChecking) return
    this.#isChecking = true
    const before = this.end.index
    const term = this.leader?.term
    const isBehind = await this.#read().then(
      () => this.end.index !== before || this.leader?.term !== term,
      () => false,
    )
    this.#isChecking = false
    if (isBehind) this.#stream?.cancel()
  }

  async #follow(from: string): Promise<void> {
    const { connection, clock } = this.#options
    for (let revision = from; !connection.ended.aborted; ) {
      try {
        await this.#watch(BigInt(revision) + 1n)
        await clock.sleep(RETRY_MS, connection.ended)
        revision = await this.#read()
      } catch {
        // Either the connection is closed, or this member cannot answer now. `ended` distinguishes the two.
      }
    }
  }

  /** Resolves when the watch has ended. */
  async #watch(start: bigint): Promise<void> {
    const { connection, layout } = this.#options
    const stream = await connection.watch()
    this.#stream = stream
    await new Promise<void>((resolve) => {
      stream.on('data', ({ canceled, events }) => {
        if (canceled) stream.cancel()
        for (const { type, kv } of events) this.#take(type === 'PUT' ? kv : undefined, kv.key)
      })
      stream.on('error', () => resolve())
      stream.on('close', resolve)
      const range = { key: layout.end, range_end: after(layout.leader) }
      stream.write({ create_request: { ...range, start_revision: String(start) } })
    })
    connection.skip()
  }

  #take(kv: KeyValue | undefined, key: Buffer): void {
    const { layout } = this.#options
    if (key.equals(layout.heartbeat)) this.#hear(kv)
    else if (key.equals(layout.leader)) this.#learn(kv && leaderOf(kv), this.end)
    else this.#learn(this.leader, parseMark(kv?.value))
  }

  #hear(heartbeat: KeyValue | undefined): void {
    if (heartbeat?.mod_revision === this.#heard?.revision) return
    this.#silence?.cancel()
    this.#heard = undefined
    if (!heartbeat) return
    const { clock } = this.#options
    const leaseMs = parseHeartbeat(heartbeat.value)
    this.#heard = { revision: heartbeat.mod_revision, heardMs: clock.monotonic(), leaseMs }
    this.#awaitSilence(leaseMs, leaseMs)
  }

  /** Restarts the timer each time, because a timer may fire slightly early, and an election attempt may fail. */
  #awaitSilence(ms: number, leaseMs: number): void {
    const { clock } = this.#options
    this.#silence = clock.setTimer(ms, () => {
      const leftMs = this.#heard ? this.#heard.heardMs + leaseMs - clock.monotonic() : 0
      this.#awaitSilence(leftMs > 0 ? leftMs : leaseMs, leaseMs)
      if (leftMs <= 0) this.#news.tell()
    })
  }

  #learn(leader: LeaderRecord | undefined, end: LogMark): void {
    if (leader?.term === this.leader?.term && end.index === this.end.index) return
    this.leader = leader
    this.end = end
    this.#news.tell()
  }
}

const RETRY_MS = 50
