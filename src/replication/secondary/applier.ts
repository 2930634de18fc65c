import { LogicalError } from '../../logical/errors.js'
import type { ReplicableStore, RemotePosition, WalEntry } from '../../storage/keys/replicable.js'
import { changedFilters } from '../filter/changed-filters.js'
import { isSamePlace } from '../host/announced.js'
import type { Received, RecentFrames } from '../model/recent-frames.js'
import type { FrameSliceMessage } from '../rpc/messages.js'
import type { LogPlace } from '../model/types.js'

/** Pieces applied as one durable batch, at most. */
const MERGED_PIECES_MAX = 64
const MERGED_BYTES_MAX = 8 * 1024 * 1024

type Applied = { readonly ok: true } | { readonly ok: false; readonly reason: string }

type BeforeFilterChange = (ids: readonly string[]) => Promise<void>

interface ApplierOptions {
  /** Remembers what was applied. */
  readonly recent?: RecentFrames
  /** Awaited before entries are applied that change filters: those of these secondaries. */
  readonly beforeFilterChange?: BeforeFilterChange
}

const APPLIED: Applied = { ok: true }

/**
 * Takes received slices of the primary's log into the store: in order, without gaps, several as one batch together with
 * the place reached, so that a crash leaves all of them or none. What does not follow on what is here changes nothing: neither
 * does anything where the store stands elsewhere than it was put from here, as after a failed batch that is stored after all.
 */
export class Applier {
  readonly #store: ReplicableStore
  readonly #epoch: string
  readonly #recent: RecentFrames | undefined
  readonly #beforeFilterChange: BeforeFilterChange
  #position: RemotePosition
  #stored: LogPlace | undefined

  /** `position` is where the store stands; `epoch` is the primary's. */
  constructor(store: ReplicableStore, position: RemotePosition, epoch: string, options: ApplierOptions = {}) {
    this.#recent = options.recent
    this.#beforeFilterChange = options.beforeFilterChange ?? (async () => undefined)
    this.#store = store
    this.#epoch = epoch
    this.#position = position
    this.#stored = store.remotePosition
  }

  /** The last place reached. What was applied is durable; the place alone may be ahead of what is stored. */
  get position(): RemotePosition {
    return this.#position
  }

  /** The primary has found the place in its own log: it is one of its epoch from now on. */
  confirm(): void {
    this.#position = { ...this.#position, epoch: this.#epoch }
  }

  /** Applies all slices, or those up to the first one that does not fit. */
  async apply(slices: readonly FrameSliceMessage[]): Promise<Applied> {
    for (let at = 0; at < slices.length; ) {
      const merged = takeSome(slices, at)
      const applied = await this.#applyMerged(merged)
      if (!applied.ok) return applied
      at += merged.length
    }
    return APPLIED
  }

  /**
   * Stores the place when only stretches without content were received since the last entry, or when the log goes on in
   * another epoch than before.
   */
  async flush(): Promise<void> {
    const position = this.#position
    if (isSamePlace(this.#stored, position)) return
    requireStandingAt(this.#store, this.#stored)
    await this.#store.applyEntries([], position)
    this.#stored = position
  }

  async #applyMerged(slices: readonly FrameSliceMessage[]): Promise<Applied> {
    let { index, hash } = this.#position
    const entries: WalEntry[] = []
    const received: Received[] = []
    for (const slice of slices) {
      if (slice.first_index !== index + 1) return refuse(`expected index ${index + 1}, got ${slice.first_index}`)
      if (slice.frame.length > 0) {
        const frame = await this.#store.parseFrame(slice.frame)
        if (frame?.firstIndex !== slice.first_index || frame.lastIndex !== slice.last_index) {
          return refuse(`the frame at ${slice.first_index} is damaged`)
        }
        if (!frame.previousHash.equals(hash)) return refuse(`the frame at ${slice.first_index} does not chain`)
        received.push({ frame, hash: slice.hash })
        for (const entry of this.#store.decodeFrame(frame)) if (entry.operations.length > 0) entries.push(entry)
      }
      index = slice.last_index
      hash = slice.hash
    }
    const position = { index, hash, epoch: this.#epoch }
    if (entries.length > 0) {
      const changed = changedFilters(entries)
      if (changed.length > 0) await this.#beforeFilterChange(changed)
      requireStandingAt(this.#store, this.#stored)
      const isApplied = await this.#store.applyEntries(entries, position)
      if (!isApplied) return refuse(`the data has diverged between ${this.#position.index} and ${index}`)
      this.#stored = position
    }
    this.#position = position
    this.#recent?.add(received, position)
    return APPLIED
  }
}

/** Throws LogicalError `unavailable` where the store stands elsewhere: what follows on this place does not follow on its data. */
export const requireStandingAt = ({ remotePosition }: ReplicableStore, place: LogPlace | undefined): void => {
  if (isSamePlace(remotePosition, place)) return
  throw new LogicalError('unavailable', `the storage was opened again, and stands at ${remotePosition?.index} now`)
}

const refuse = (reason: string): Applied => ({ ok: false, reason })

const takeSome = (slices: readonly FrameSliceMessage[], from: number): FrameSliceMessage[] => {
  const taken: FrameSliceMessage[] = []
  let bytes = 0
  for (const slice of slices.slice(from, from + MERGED_PIECES_MAX)) {
    bytes += slice.frame.length
    if (taken.length > 0 && bytes > MERGED_BYTES_MAX) break
    taken.push(slice)
  }
  return taken
}
