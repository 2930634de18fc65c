import type { Clock, Timer } from '../../base/clock.js'
import { Listeners } from '../../base/listeners.js'
import type { Entry } from '../engine/engine.js'
import { OrderedMap } from '../engine/ordered-map.js'
import { decodeBatch, LOG_START, positionAfter, positionOf, previousHashOf } from './raw-batch.js'
import { ImageNeeded } from './shared-log.js'
import type * as Shared from './shared-log.js'

interface MemoryLogOptions {
  /** The clock that expires leases. */
  readonly clock: Clock
  readonly leaseMs: number
  /** Maximum number of entries in the log (default 65,536). Older entries are merged into the image. */
  readonly entriesMax?: number
}

const CHUNK_ENTRIES = 1000

/**
 * The shared log of one cluster in memory, without a consensus engine. Responds immediately. Nodes connect through
 * `MemorySharedLog`.
 */
export class MemoryLog {
  readonly clock: Clock
  readonly leaseMs: number
  readonly #entriesMax: number
  #image = new OrderedMap()
  readonly #entries: Shared.LogEntry[] = []
  readonly #nodes = new Map<string, { readonly node: Shared.AnnouncedNode; readonly expiry: Timer }>()
  readonly #changes = new Listeners()
  /** Calls the listener after each change of the leader or the log. Returns the unsubscribe function. */
  readonly onChange = this.#changes.add
  #base = LOG_START
  #term = 0
  #leader: { readonly record: Shared.LeaderRecord; expiry: Timer } | undefined

  constructor({ clock, leaseMs, entriesMax = 65_536 }: MemoryLogOptions) {
    this.clock = clock
    this.leaseMs = leaseMs
    this.#entriesMax = entriesMax
  }

  get leader(): Shared.LeaderRecord | undefined {
    return this.#leader?.record
  }

  get end(): Shared.LogPosition {
    const last = this.#entries.at(-1)
    return last ? positionOf(last) : this.#base
  }

  /** Makes the candidate the leader. Returns its record, or undefined if there is a leader already. */
  tryLead(candidate: Shared.Candidate, activeSinceMs: number): Shared.LeaderRecord | undefined {
    if (this.#leader) return undefined
    const record = { ...candidate, term: ++this.#term, activeSinceMs }
    this.#leader = { record, expiry: this.#expireLeader() }
    this.#changes.emit()
    return record
  }

  renew(term: number): boolean {
    if (this.#leader?.record.term !== term) return false
    this.#leader.expiry.cancel()
    this.#leader.expiry = this.#expireLeader()
    return true
  }

  release(term: number): void {
    if (this.#leader?.record.term === term) this.#dropLeader()
  }

  append(term: number, entry: Shared.LogEntry): boolean {
    if (this.#leader?.record.term !== term) return false
    const { index, hash } = this.end
    if (entry.index !== index + 1 || !previousHashOf(entry.bytes).equals(hash)) {
      throw new Error(`entry ${entry.index} does not follow entry ${index}`)
    }
    this.#entries.push(entry)
    while (this.#entries.length > this.#entriesMax) this.#fold()
    this.#changes.emit()
    return true
  }

  replace(term: number, content: readonly Entry[]): Shared.LogPosition | undefined {
    if (this.#leader?.record.term !== term) return undefined
    this.#base = positionAfter(this.end)
    this.#entries.length = 0
    this.#image = new OrderedMap()
    for (const { key, value } of content) this.#image.set(key, value)
    this.#changes.emit()
    return this.#base
  }

  reaches({ index, hash }: Shared.LogPosition): boolean {
    const entry = this.#entries[index - this.#base.index - 1]
    const found = entry ? positionOf(entry) : this.#base
    return found.index === index && found.hash.equals(hash)
  }

  entriesAfter(after: Shared.LogPosition): readonly Shared.LogEntry[] {
    if (!this.reaches(after)) throw new ImageNeeded(`the log does not reach back to entry ${after.index}`)
    return this.#entries.slice(after.index - this.#base.index)
  }

  image(): Shared.LogImage {
    const pairs = this.#image
      .frozen()
      .flatMap(({ keys, values }) => keys.map((key, at) => ({ key, value: values[at] })))
    const entries = pairs.flatMap(({ key, value }) => (value ? [{ key, value }] : []))
    const rest = [...this.#entries]
    return {
      position: this.#base,
      async *rest() {
        yield* rest
      },
      async *chunks() {
        for (let at = 0; at < entries.length; at += CHUNK_ENTRIES) yield entries.slice(at, at + CHUNK_ENTRIES)
      },
    }
  }

  get nodes(): readonly Shared.AnnouncedNode[] {
    return [...this.#nodes.values()].map(({ node }) => node).sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  announce(node: Shared.AnnouncedNode): void {
    this.forget(node.id)
    const expiry = this.clock.setTimer(this.leaseMs, () => this.forget(node.id))
    this.#nodes.set(node.id, { node, expiry })
  }

  forget(id: string): void {
    this.#nodes.get(id)?.expiry.cancel()
    this.#nodes.delete(id)
  }

  #expireLeader(): Timer {
    return this.clock.setTimer(this.leaseMs, () => this.#dropLeader())
  }

  #dropLeader(): void {
    this.#leader?.expiry.cancel()
    this.#leader = undefined
    this.#changes.emit()
  }

  /** Merges the oldest entry into the image. */
  #fold(): void {
    const entry = this.#entries.shift()
    if (!entry) return
    for (const { key, value } of decodeBatch(entry)) {
      if (value === undefined) this.#image.delete(key)
      else this.#image.set(key, value)
    }
    this.#base = positionOf(entry)
  }
}
