import type { Log } from '../../base/log.js'
import type { Recorder } from '../../base/meter.js'
import { LogicalError } from '../../logical/errors.js'
import type { Frame, ReplicableStore } from '../../storage/replicable.js'
import type { FrameSliceMessage, PositionMessage } from '../rpc/messages.js'
import type { PrimaryStream } from '../rpc/service.js'
import { filteredDigest } from '../filter/filtered-digest.js'
import type { KeyFilter, Kind, StreamState } from '../types.js'
import { addSlice, sliceOf } from './frame-slice.js'
import type { SyncSession, SyncSessions } from './sync-sessions.js'

interface ShipperOptions {
  readonly kind: Kind
  readonly store: ReplicableStore
  readonly sessions: SyncSessions
  readonly stream: PrimaryStream
  readonly commonName: string
  /** Largest message, unless one transaction is larger. */
  readonly batchBytes: number
  readonly epoch: () => string
  readonly filter: () => KeyFilter | undefined
  /** Where the secondary may find its primary, or what takes its place. */
  readonly addresses: () => readonly string[]
  readonly onApplied: (index: number, state: StreamState) => void
  readonly recorder: Recorder
  readonly log: Log
}

/** Where a secondary said it stands when it opened its stream. */
interface OpenedAt {
  readonly position: PositionMessage | null
  readonly filter: string
}

/**
 * Feeds one secondary: a cursor over the log, wherever the frames come from, that waits for the secondary to read and
 * never keeps frames for it. When the log no longer reaches back to the cursor, or the secondary says that what it has
 * does not fit, the same stream carries a resync: a session is offered, and the cursor goes on where the secondary says.
 */
export class Shipper {
  readonly #options: ShipperOptions
  #wakers = new Set<() => void>()
  #lostPlace: string | undefined
  #start: PositionMessage | undefined
  /** The log index at which what is filtered changed, until it was acted upon. */
  #filterChangedAt: number | undefined
  /** The filter that what the secondary has was compared under, by its fingerprint; undefined where that is not sure. */
  #comparedUnder: string | undefined
  #session: SyncSession | undefined
  #isComparing = false
  /** What the secondary was told last. */
  #addresses = ''

  constructor(options: ShipperOptions) {
    this.#options = options
  }

  /** Resolves never but by rejection: with the stream's end, or with why it had to be ended. */
  async run(opened: OpenedAt): Promise<never> {
    const { store, stream } = this.#options
    const unsubscribe = store.onCommit(() => this.#wake())
    const onEnd = () => this.#wake()
    stream.ended.addEventListener('abort', onEnd)
    const loops = [this.#ship(opened), this.#listen(), this.#announce()]
    try {
      return await Promise.race(loops)
    } catch (error) {
      stream.end(error instanceof LogicalError ? error : new LogicalError('internal', String(error), { cause: error }))
      throw error
    } finally {
      await Promise.allSettled(loops)
      unsubscribe()
      stream.ended.removeEventListener('abort', onEnd)
      await this.#closeSession()
    }
  }

  /** What is filtered is about to change by the log's newest entry: ships up to it, then has everything compared. */
  filterChanged(): void {
    this.#comparedUnder = undefined
    this.#filterChangedAt = this.#options.store.position.index
    this.#beginComparing()
    this.#wake()
  }

  /** For one that may take this primary's place the news must not wait for a heartbeat. */
  addressesChanged(): void {
    this.#wake()
  }

  /** Beside the log, which may be waiting for the secondary to read or to compare. */
  async #announce(): Promise<never> {
    const { stream, addresses } = this.#options
    for (;;) {
      stream.ended.throwIfAborted()
      const known = [...addresses()]
      if (String(known) !== this.#addresses) {
        this.#addresses = String(known)
        await stream.send({ addresses: { addresses: known } })
      }
      await this.#changed()
    }
  }

  async #ship(opened: OpenedAt): Promise<never> {
    const { store, stream, filter } = this.#options
    this.#comparedUnder = opened.filter
    if (opened.filter !== (filter()?.fingerprint ?? '')) this.#filterChangedAt = 0
    const isKnown = opened.position !== null && store.hasPosition(opened.position)
    this.#count(isKnown ? 'guard_found' : 'missing_guard')
    // Nothing to apply, but it tells the secondary that its place is one of this log.
    if (isKnown) await this.#send([])
    let cursor = isKnown && opened.position ? opened.position.index : await this.#resync('non-matching guard')
    for (;;) {
      stream.ended.throwIfAborted()
      if (this.#lostPlace !== undefined) {
        cursor = await this.#resync(this.#lostPlace)
        continue
      }
      if (this.#filterChangedAt !== undefined && cursor >= this.#filterChangedAt) {
        cursor = await this.#resync('paths filter changed')
        continue
      }
      const frames = await store.framesAfter(cursor, this.#options.batchBytes)
      if (frames === undefined) {
        this.#count('missing_guard')
        cursor = await this.#resync('no matching WALs available')
      } else if (frames.length > 0) {
        this.#count('scanned_entries', frames.length)
        await this.#send(frames)
        cursor = frames[frames.length - 1]?.lastIndex ?? cursor
        if (this.#session && cursor >= store.position.index) await this.#closeSession()
      } else if (store.position.index <= cursor) {
        await this.#closeSession()
        await this.#changed()
      }
    }
  }

  /** Operators watch for places that the log does not have any more: each costs a comparison. */
  #count(what: 'guard_found' | 'missing_guard' | 'scanned_entries', value = 1): void {
    this.#options.recorder.record(`vault.logshipper.streamWALs.${what}`, value)
  }

  async #send(frames: readonly Frame[]): Promise<void> {
    const { kind, store, stream } = this.#options
    const filter = this.#options.filter()
    const slices: FrameSliceMessage[] = []
    let bytes = 0
    for (const frame of frames) {
      const slice = sliceOf(store, frame, { kind, filter })
      bytes += slice.frame.length
      addSlice(slices, slice)
    }
    await stream.send({ shipment: { slices, last_index: lastIndexOf(store, kind) } }, bytes)
  }

  /** Offers a session and waits until the secondary says where to go on. */
  async #resync(reason: string): Promise<number> {
    const { kind, store, stream, sessions, commonName, epoch, log } = this.#options
    const filter = this.#options.filter()
    this.#lostPlace = undefined
    this.#filterChangedAt = undefined
    this.#start = undefined
    this.#beginComparing()
    await this.#closeSession()
    const session = sessions.open(commonName, { kind, filter })
    this.#session = session
    const { position, trees } = session.snapshot
    log.info('offering a merkle sync', { reason, index: position.index })
    await stream.send({
      resync: {
        session: session.id,
        position: { index: position.index, hash: position.hash, epoch: epoch() },
        replicated_root: trees.replicated.root(),
        local_root: kind === 'dr' ? trees.local.root() : Buffer.alloc(0),
        is_filtered: filter !== undefined,
        is_filter_new: filter !== undefined && filter.fingerprint !== this.#comparedUnder,
        filtered_digest: filteredDigest(await session.snapshot.filtered('replicated')),
        reason,
      },
    })
    for (;;) {
      stream.ended.throwIfAborted()
      if (this.#lostPlace !== undefined) return this.#resync(this.#lostPlace)
      const start = this.#started()
      if (start && this.#filterChangedAt === undefined) this.#comparedUnder = filter?.fingerprint ?? ''
      if (start && store.hasPosition(start)) {
        this.#isComparing = this.#filterChangedAt !== undefined
        if (!this.#isComparing) this.#options.onApplied(start.index, 'stream-wals')
        return start.index
      }
      if (start) return this.#resync('no matching WALs available')
      await this.#changed()
    }
  }

  async #listen(): Promise<never> {
    const { stream, onApplied } = this.#options
    for (;;) {
      for (const up of await stream.receive()) {
        if (up.message === 'applied_index' && !this.#isComparing) onApplied(up.applied_index ?? 0, 'stream-wals')
        if (up.message === 'start' && up.start) this.#start = up.start
        if (up.message === 'lost_place') this.#placeLost(up.lost_place ?? '')
      }
      this.#wake()
    }
  }

  /** What the secondary has is not what it was sent: nothing is taken for sure. */
  #placeLost(reason: string): void {
    this.#comparedUnder = undefined
    this.#lostPlace = reason
  }

  /** Until it has compared, a secondary does not have what it was sent before. */
  #beginComparing(): void {
    this.#isComparing = true
    this.#options.onApplied(0, 'merkle-diff')
  }

  #started(): PositionMessage | undefined {
    return this.#start
  }

  async #closeSession(): Promise<void> {
    const session = this.#session
    this.#session = undefined
    if (session) await this.#options.sessions.close(session)
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#options.stream.ended.aborted) resolve()
      else this.#wakers.add(resolve)
    })
  }

  #wake(): void {
    const wakers = this.#wakers
    this.#wakers = new Set()
    for (const resolve of wakers) resolve()
  }
}

/** The last index that secondaries of a kind are to reach. */
export const lastIndexOf = (store: ReplicableStore, kind: Kind): number =>
  kind === 'dr' ? store.lastShippedIndex : store.lastReplicatedIndex
