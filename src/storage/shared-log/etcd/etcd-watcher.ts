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
   * Polling interval in milliseconds. Polling detects a silently dropped connection, which the watch does not notice.
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
  /** The time, in milliseconds of this node's monotonic clock, at which this node received the heartbeat. */
  readonly heardMs: number
  readonly leaseMs: number
}

/** Tracks the leader and the end of the log with a watch and with polling. */
export class EtcdWatcher {
  leader: LeaderRecord | undefined
  end: LogMark = START_MARK
  #heard: Heard | undefined
  #silence: Timer | undefined
  readonly #options: EtcdWatcherOptions
  readonly #changes = new Listeners()
  /**
   * Calls the listener after each change, and when the leader has sent no heartbeat for the duration of its lease.
   * Returns the unsubscribe function.
   */
  readonly onChange = this.#changes.add
  readonly #poll: Timer
  #isChecking = false
  #stream: ClientDuplexStream<object, WatchResponse> | undefined

  constructor(options: EtcdWatcherOptions) {
    this.#options = options
    this.#poll = options.clock.setRepeating(options.pollMs, () => void this.#check())
  }

  /** Reads the initial state, and then follows changes in the background. */
  async start(): Promise<void> {
    const revision = await this.#read()
    void this.#follow(revision)
  }

  /**
   * The revision of the last heartbeat if the leader sent none for the duration of its lease; otherwise undefined. In
   * this case, the leader has lost the lease by its own clock. etcd may keep the lease longer, because an election
   * among its members restarts every lease.
   */
  get missedHeartbeat(): string | undefined {
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
    return nextChange(this.onChange, ends)
  }

  /** Reads the leader, the heartbeat and the end of the log. Resolves to the revision of the read. */
  async #read(): Promise<string> {
    const { connection, layout } = this.#options
    const { kvs, header } = await connection.ask('Range', { key: layout.end, range_end: after(layout.leader) })
    const find = (key: Buffer) => kvs.find((one) => one.key.equals(key))
    const leader = find(layout.leader)
    this.#hear(find(layout.heartbeat))
    this.#learn(leader && leaderOf(leader), parseMark(find(layout.end)?.value))
    return header.revision
  }

  /** Reads the state, and replaces the watch if it has missed a change. Does nothing while a poll is running. */
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
        // The connection is closed, which ends the loop, or this member does not respond, so the loop continues.
      }
    }
  }

  /** Watches changes from a revision on. Resolves when the watch has ended. */
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

  /** Notifies listeners when the heartbeat is overdue, and after each further lease time, for a failed election. */
  #awaitSilence(ms: number, leaseMs: number): void {
    const { clock } = this.#options
    this.#silence = clock.setTimer(ms, () => {
      const leftMs = this.#heard ? this.#heard.heardMs + leaseMs - clock.monotonic() : 0
      this.#awaitSilence(leftMs > 0 ? leftMs : leaseMs, leaseMs)
      if (leftMs <= 0) this.#changes.emit()
    })
  }

  #learn(leader: LeaderRecord | undefined, end: LogMark): void {
    if (leader?.term === this.leader?.term && end.index === this.end.index) return
    this.leader = leader
    this.end = end
    this.#changes.emit()
  }
}

const RETRY_MS = 50
