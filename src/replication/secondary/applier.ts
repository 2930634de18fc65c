import { LogicalError } from '../../logical/errors.js'
import type { ReplicableStore, RemotePosition, WalEntry } from '../../storage/keys/replicable.js'
import { decodeFrame, parseFrame } from '../../storage/log/frame.js'
import { changedFilters } from '../filter/changed-filters.js'
import { isSamePosition } from '../host/announced.js'
import type { Received, RecentFrames } from '../model/recent-frames.js'
import type { FrameSliceMessage } from '../rpc/messages.js'
import type { PrimaryPosition } from '../model/types.js'

/** Maximum number of slices that are applied in one batch. */
const MERGED_PIECES_MAX = 64
const MERGED_BYTES_MAX = 8 * 1024 * 1024

type Applied = { readonly ok: true } | { readonly ok: false; readonly reason: string }

interface ApplierOptions {
  /** The current epoch of the primary. */
  readonly epoch: string
  /** Receives the applied frames. */
  readonly recent: RecentFrames
  /** Awaited before entries are applied that change filters. Receives the IDs of these filters. */
  readonly beforeFilterChange: (ids: readonly string[]) => Promise<void>
}

const APPLIED: Applied = { ok: true }

/**
 * Applies received slices of the primary's log in order and without gaps. Several slices and the new position form one
 * batch, so that a crash leaves all or none of them. If a slice does not continue from the current position, its batch
 * is not applied. If other code has changed the position of the store, for example because a failed batch was stored
 * after all, `apply` throws `LogicalError` `unavailable`.
 */
export class Applier {
  readonly #store: ReplicableStore
  readonly #options: ApplierOptions
  #position: RemotePosition
  #stored: PrimaryPosition | undefined

  /** Continues from `position`, the position of the store. */
  constructor(store: ReplicableStore, position: RemotePosition, options: ApplierOptions) {
    this.#store = store
    this.#options = options
    this.#position = position
    this.#stored = store.remotePosition
  }

  /** The last received position. It is ahead of the stored position if the last slices had no content. */
  get position(): RemotePosition {
    return this.#position
  }

  /** Assigns the position to the primary's current epoch, because the primary has found the position in its log. */
  confirm(): void {
    this.#position = { ...this.#position, epoch: this.#options.epoch }
  }

  /** Applies slices in batches. Stops at the first batch with a slice that does not fit, and resolves to the reason. */
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
   * Stores the position if it differs from the stored position: the last slices had no content, or the log continues in
   * another epoch.
   */
  async flush(): Promise<void> {
    const position = this.#position
    if (isSamePosition(this.#stored, position)) return
    requirePositionAt(this.#store, this.#stored)
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
        const frame = await parseFrame(slice.frame)
        if (frame?.firstIndex !== slice.first_index || frame.lastIndex !== slice.last_index) {
          return refuse(`the frame at ${slice.first_index} is damaged`)
        }
        if (!frame.previousHash.equals(hash)) return refuse(`the frame at ${slice.first_index} does not match the log`)
        received.push({ frame, hash: slice.hash })
        for (const entry of decodeFrame(frame)) if (entry.operations.length > 0) entries.push(entry)
      }
      index = slice.last_index
      hash = slice.hash
    }
    const { epoch, recent, beforeFilterChange } = this.#options
    const position = { index, hash, epoch }
    if (entries.length > 0) {
      const changed = changedFilters(entries)
      if (changed.length > 0) await beforeFilterChange(changed)
      requirePositionAt(this.#store, this.#stored)
      const isApplied = await this.#store.applyEntries(entries, position)
      if (!isApplied) return refuse(`the data has diverged between ${this.#position.index} and ${index}`)
      this.#stored = position
    }
    this.#position = position
    recent.add(received, position)
    return APPLIED
  }
}

/**
 * Throws `LogicalError` `unavailable` if the store is not at `position`, because the next entries would not match its
 * data.
 */
export const requirePositionAt = ({ remotePosition }: ReplicableStore, position: PrimaryPosition | undefined): void => {
  if (isSamePosition(remotePosition, position)) return
  throw new LogicalError('unavailable', `the storage was reopened and is now at index ${remotePosition?.index}`)
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
