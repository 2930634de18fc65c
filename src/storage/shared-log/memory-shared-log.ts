import { nextChange, unlessAborted } from '../../base/await-change.js'
import type { Clock, Timer } from '../../base/clock.js'
import { Listeners } from '../../base/listeners.js'
import { linkSignals } from '../../base/linked-signal.js'
import { LeasedLeadership } from './leased-leadership.js'
import { MemoryLink } from './memory-link.js'
import type { MemoryLog } from './memory-log.js'
import type { Entry } from '../engine/engine.js'
import { positionOf } from './raw-batch.js'
import type * as Shared from './shared-log.js'

/** The connection of one node to a shared log in memory, for clusters whose nodes run in one process. */
export class MemorySharedLog implements Shared.SharedLog {
  /** Controls the connection between the node and the log, for fault injection. */
  readonly link: MemoryLink
  readonly #log: MemoryLog
  readonly #clock: Clock
  readonly #leaders = new Listeners<[Shared.LeaderRecord | undefined]>()
  readonly onLeader = this.#leaders.add
  readonly #ended = new AbortController()
  readonly #unsubscribe: () => void
  #leader: Shared.LeaderRecord | undefined
  #announced: { readonly id: string; readonly renewal: Timer } | undefined
  #leadership: LeasedLeadership | undefined

  /** Connects a node to `log`. `clock` is the clock of this node. */
  constructor(log: MemoryLog, clock: Clock, link = new MemoryLink()) {
    this.link = link
    this.#log = log
    this.#clock = clock
    this.#leader = log.leader
    this.#unsubscribe = log.onChange(() => void this.#learn())
  }

  get leader(): Shared.LeaderRecord | undefined {
    return this.#leader
  }

  async announce(record: Shared.NodeRecord): Promise<void> {
    this.#announced?.renewal.cancel()
    const node = { ...record, lastEchoMs: this.#clock.now() }
    const renewal = this.#clock.setRepeating(this.#log.leaseMs / 3, () => void this.#announce(node))
    this.#announced = { id: record.id, renewal }
    await this.#announce(node)
  }

  nodes(): Promise<readonly Shared.AnnouncedNode[]> {
    return this.link.ask(() => this.#log.nodes)
  }

  async campaign(candidate: Shared.Candidate, signal: AbortSignal): Promise<Shared.Leadership> {
    using either = linkSignals([signal, this.#ended.signal])
    const ends = either.signal
    for (;;) {
      const change = this.#nextChange(ends)
      const sentMs = this.#clock.monotonic()
      const tried = this.link.ask(() => (ends.aborted ? undefined : this.#log.tryLead(candidate, this.#clock.now())))
      const record = await unlessAborted(tried, ends).catch((reason: unknown) => {
        void tried.then((late) => late && this.#log.release(late.term))
        throw reason
      })
      if (record) return this.#lead(record.term, sentMs)
      await change
      ends.throwIfAborted()
    }
  }

  async *follow(after: Shared.LogPosition, signal: AbortSignal): AsyncGenerator<Shared.LogEntry> {
    using either = linkSignals([signal, this.#ended.signal])
    const ends = either.signal
    let position = after
    while (!ends.aborted) {
      const change = this.#nextChange(ends)
      const from = position
      const asked = this.link.ask(() => this.#log.entriesAfter(from))
      const entries = await unlessAborted(asked, ends).catch((error: unknown) => {
        if (!ends.aborted) throw error
        return []
      })
      for (const entry of entries) {
        if (ends.aborted) return
        position = positionOf(entry)
        yield entry
      }
      if (entries.length === 0) await change
    }
  }

  lastIndex(signal: AbortSignal): Promise<number> {
    return this.#ask(() => this.#log.end.index, signal)
  }

  reaches(applied: Shared.LogPosition, signal: AbortSignal): Promise<boolean> {
    return this.#ask(() => this.#log.reaches(applied), signal)
  }

  readImage(signal: AbortSignal): Promise<Shared.LogImage> {
    return this.#ask(() => this.#log.image(), signal)
  }

  /** Does nothing, because a node keeps no files of the log. */
  async forgetReplaced(): Promise<void> {}

  async close(): Promise<void> {
    if (this.#ended.signal.aborted) return
    this.#end()
    const id = this.#announced?.id
    if (id !== undefined) void this.link.ask(() => this.#log.forget(id))
    if (this.#leadership?.isHeld) await this.#leadership.resign()
  }

  /** Simulates the death of the node's process: leases stay until they expire, and the node sends nothing more. */
  crash(): void {
    this.link.cut()
    this.#end()
    this.#leadership?.finish('its process has died')
  }

  #end(): void {
    this.#ended.abort(new Error('the connection to the shared log is closed'))
    this.#unsubscribe()
    this.#announced?.renewal.cancel()
  }

  #lead(term: number, sentMs: number): Shared.Leadership {
    this.#leadership = new LeasedLeadership({
      clock: this.#clock,
      leaseMs: this.#log.leaseMs,
      sentMs,
      term,
      end: this.#log.end,
      calls: {
        append: (index, bytes) => this.link.ask(() => this.#log.append(term, { index, bytes })),
        replace: async (content) => {
          const entries: Entry[] = []
          for await (const chunk of content) entries.push(...chunk)
          return this.link.ask(() => this.#log.replace(term, entries))
        },
        renew: () => this.link.ask(() => this.#log.renew(term)),
        release: () => this.link.ask(() => this.#log.release(term)),
      },
    })
    return this.#leadership
  }

  async #announce(node: Shared.AnnouncedNode): Promise<void> {
    await this.link.ask(() => {
      if (!this.#ended.signal.aborted) this.#log.announce(node)
    })
  }

  async #learn(): Promise<void> {
    await this.link.listening
    const { leader } = this.#log
    if (leader === this.#leader || this.#ended.signal.aborted) return
    this.#leader = leader
    this.#leaders.emit(leader)
  }

  #ask<T>(read: () => T, signal: AbortSignal): Promise<T> {
    return unlessAborted(this.link.ask(read), signal)
  }

  /** Resolves at the next change of the log or its leader, or when the signal is aborted. */
  #nextChange(ends: AbortSignal): Promise<void> {
    return nextChange(this.#log.onChange, ends)
  }
}
