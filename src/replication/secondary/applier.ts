import type { ReplicableStore, RemotePosition, WalEntry } from '../../storage/replicable.js'
import type { Received, RecentFrames } from './recent-frames.js'
import type { PieceMessage } from '../rpc/messages.js'
import type { LogPlace } from '../types.js'

/** Pieces applied as one durable batch, at most. */
const MERGED_PIECES_MAX = 64
const MERGED_BYTES_MAX = 8 * 1024 * 1024

type Applied = { readonly ok: true } | { readonly ok: false; readonly reason: string }

const APPLIED: Applied = { ok: true }

/**
 * Takes received pieces of the primary's log into the store: in order, without gaps, several as one batch together with
 * the place reached, so that a crash leaves all of them or none. What does not follow on what is here changes nothing.
 */
export class Applier {
  readonly #store: ReplicableStore
  readonly #epoch: string
  readonly #recent: RecentFrames | undefined
  #position: RemotePosition
  #stored: LogPlace | undefined

  /** `position` is where the store stands; `epoch` is the primary's; `recent` remembers what was applied. */
  constructor(store: ReplicableStore, position: RemotePosition, epoch: string, recent?: RecentFrames) {
    this.#recent = recent
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

  /** All of it, or up to the first piece that does not fit. */
  async apply(pieces: readonly PieceMessage[]): Promise<Applied> {
    for (let at = 0; at < pieces.length; ) {
      const merged = takeSome(pieces, at)
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
    if (this.#stored?.index === position.index && this.#stored.epoch === position.epoch) return
    await this.#store.applyEntries([], position)
    this.#stored = position
  }

  async #applyMerged(pieces: readonly PieceMessage[]): Promise<Applied> {
    let { index, hash } = this.#position
    const entries: WalEntry[] = []
    const received: Received[] = []
    for (const piece of pieces) {
      if (piece.first_index !== index + 1) return refuse(`expected index ${index + 1}, got ${piece.first_index}`)
      if (piece.frame.length > 0) {
        const frame = this.#store.parseFrame(piece.frame)
        if (frame?.firstIndex !== piece.first_index || frame.lastIndex !== piece.last_index) {
          return refuse(`the frame at ${piece.first_index} is damaged`)
        }
        if (!frame.previousHash.equals(hash)) return refuse(`the frame at ${piece.first_index} does not chain`)
        received.push({ frame, hash: piece.hash })
        for (const entry of this.#store.decodeFrame(frame)) if (entry.operations.length > 0) entries.push(entry)
      }
      index = piece.last_index
      hash = piece.hash
    }
    const position = { index, hash, epoch: this.#epoch }
    if (entries.length > 0) {
      const isApplied = await this.#store.applyEntries(entries, position)
      if (!isApplied) return refuse(`the data has diverged between ${this.#position.index} and ${index}`)
      this.#stored = position
    }
    this.#position = position
    this.#recent?.add(received, position)
    return APPLIED
  }
}

const refuse = (reason: string): Applied => ({ ok: false, reason })

const takeSome = (pieces: readonly PieceMessage[], from: number): PieceMessage[] => {
  const taken: PieceMessage[] = []
  let bytes = 0
  for (const piece of pieces.slice(from, from + MERGED_PIECES_MAX)) {
    bytes += piece.frame.length
    if (taken.length > 0 && bytes > MERGED_BYTES_MAX) break
    taken.push(piece)
  }
  return taken
}
