import type { ClientDuplexStream } from '@grpc/grpc-js'
import type { Clock, Timer } from '../../../base/clock.js'
import type { LeaderRecord } from '../shared-log.js'
import type { KeyValue, WatchResponse } from './etcd-api.js'
import type { EtcdConnection } from './etcd-connection.js'
import { after, type EtcdLayout, parseMark, START_MARK, type LogMark } from './etcd-layout.js'

interface EtcdNewsOptions {
  readonly connection: EtcdConnection
  readonly layout: EtcdLayout
  readonly clock: Clock
  /** It is asked so often, whatever a watch says: one over a way that is cut in silence says nothing. */
  readonly pollMs: number
}

const leaderOf = ({ value, create_revision }: KeyValue): LeaderRecord => ({
  ...(JSON.parse(value.toString('utf8')) as Omit<LeaderRecord, 'term'>),
  term: Number(create_revision),
})

/** Where the log ends and who leads, kept up by a watch. */
export class EtcdNews {
  leader: LeaderRecord | undefined
  end: LogMark = START_MARK
  readonly #options: EtcdNewsOptions
  readonly #listeners = new Set<() => void>()
  readonly #poll: Timer
  #isChecking = false
  #stream: ClientDuplexStream<object, WatchResponse> | undefined

  constructor(options: EtcdNewsOptions) {
    this.#options = options
    this.#poll = options.clock.setRepeating(options.pollMs, () => void this.#check())
  }

  /** Resolves when it is known how things stand; from then on they are followed. */
  async start(): Promise<void> {
    const revision = await this.#read()
    void this.#follow(revision)
  }

  stop(): void {
    this.#poll.cancel()
    this.#stream?.cancel()
  }

  /** Called after each change. Returns the unsubscribe function. */
  onNews(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Resolves with the next change, or when the signal is aborted. */
  next(ends: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        unsubscribe()
        ends.removeEventListener('abort', done)
        resolve()
      }
      const unsubscribe = this.onNews(done)
      ends.addEventListener('abort', done)
    })
  }

  /** Resolves to the revision at which it was so. */
  async #read(): Promise<string> {
    const { connection, layout } = this.#options
    const { kvs, header } = await connection.ask('Range', { key: layout.end, range_end: after(layout.leader) })
    const find = (key: Buffer) => kvs.find((one) => one.key.equals(key))
    const leader = find(layout.leader)
    this.#learn(leader && leaderOf(leader), parseMark(find(layout.end)?.value))
    return header.revision
  }

  /** What a watch should have told and has not: it is given up for another. Not asked again before there was an answer. */
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
        // Closed, or answered by a member that cannot answer now: `ended` tells.
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
    if (key.equals(layout.leader)) this.#learn(kv && leaderOf(kv), this.end)
    else this.#learn(this.leader, parseMark(kv?.value))
  }

  #learn(leader: LeaderRecord | undefined, end: LogMark): void {
    if (leader?.term === this.leader?.term && end.index === this.end.index) return
    this.leader = leader
    this.end = end
    for (const listener of [...this.#listeners]) listener()
  }
}

const RETRY_MS = 50
