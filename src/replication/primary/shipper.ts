import { nextChange } from '../../base/await-change.js'
import { Listeners } from '../../base/listeners.js'
import type { Log } from '../../base/log.js'
import type { Recorder } from '../../base/meter.js'
import { LogicalError } from '../../logical/errors.js'
import type { Frame, ReplicableStore } from '../../storage/keys/replicable.js'
import type { FrameSliceMessage, PositionMessage } from '../rpc/messages.js'
import type { PrimaryStream } from '../rpc/service.js'
import { findFilterChange } from '../filter/changed-filters.js'
import { filteredDigest } from '../filter/filtered-digest.js'
import { lastIndexOf } from '../host/announced.js'
import { step } from '../model/state-table.js'
import type { KeyFilter, Kind, StreamState } from '../model/types.js'
import { addSlice, sliceOf } from './filter-frame.js'
import { findResyncReason, SHIPPING, type Shipping, type ShippingEvent } from './shipping.js'
import type { SyncSessions } from './sync-sessions.js'

interface ShipperOptions {
  readonly kind: Kind
  readonly store: ReplicableStore
  readonly sessions: SyncSessions
  readonly stream: PrimaryStream
  readonly commonName: string
  /** Maximum bytes of a message. A message with one larger transaction may exceed it. */
  readonly batchBytes: number
  readonly epoch: () => string
  readonly filter: () => KeyFilter | undefined
  /** The IDs under which the filter of this secondary is stored; empty for a DR secondary, which has no filter. */
  readonly filterIds: readonly string[]
  /** Returns the addresses of the primary and of its possible successors. */
  readonly addresses: () => readonly string[]
  readonly onApplied: (index: number, state: StreamState) => void
  readonly recorder: Recorder
  readonly log: Log
}

/** The position and the filter that a secondary sent when it opened its stream. */
interface OpenedAt {
  readonly position: PositionMessage | null
  readonly filter: string
}

/**
 * Sends the log to one secondary. A shipper is a cursor over the log: it waits until the secondary reads, and buffers
 * no frames. If the log no longer contains the position of the cursor, or if the secondary reports that its data does
 * not match, the shipper offers a resync session on the same stream. The cursor then continues at the position that the
 * secondary sends.
 */
export class Shipper {
  readonly #options: ShipperOptions
  readonly #wakers = new Listeners()
  #state: Shipping = { is: 'opening', changedAt: undefined }

  constructor(options: ShipperOptions) {
    this.#options = options
  }

  /** Sends the log until the stream ends. Never resolves. Rejects with the reason of the end. */
  async run(opened: OpenedAt): Promise<never> {
    const { store, stream } = this.#options
    const unsubscribe = store.onCommit(() => this.#wakers.emit())
    const loops = [this.#ship(opened), this.#listen(), this.#announce()]
    try {
      return await Promise.race(loops)
    } catch (error) {
      stream.end(error instanceof LogicalError ? error : new LogicalError('internal', String(error), { cause: error }))
      throw error
    } finally {
      await Promise.allSettled(loops)
      unsubscribe()
      await this.#happened({ on: 'ended' })
    }
  }

  /**
   * Must be called after the newest log entry changed which keys are filtered. Sends the log up to this entry, then
   * starts a comparison of all data.
   */
  filterChanged(): void {
    this.#take({ on: 'filter-changed', at: this.#options.store.position.index })
    this.#wakers.emit()
  }

  /** Sends a changed list of addresses now instead of with the next heartbeat. */
  addressesChanged(): void {
    this.#wakers.emit()
  }

  /** Sends changed addresses in a separate loop, because the log may be waiting for the secondary. */
  async #announce(): Promise<never> {
    const { stream, addresses } = this.#options
    let sent = ''
    for (;;) {
      stream.ended.throwIfAborted()
      const known = [...addresses()]
      if (String(known) !== sent) {
        sent = String(known)
        await stream.send({ addresses: { addresses: known } })
      }
      await this.#changed()
    }
  }

  async #ship({ position, filter }: OpenedAt): Promise<never> {
    const { store, stream, filterIds } = this.#options
    const isKnown = position !== null && store.hasPosition(position)
    const isOtherFilter = filter !== (this.#options.filter()?.fingerprint ?? '')
    this.#take({ on: 'opened', isKnown, filter, isOtherFilter })
    this.#count(isKnown ? 'guard_found' : 'missing_guard')
    // An empty message confirms that the secondary's position is in this log.
    if (isKnown) await this.#send([])
    let cursor = position?.index ?? 0
    // Later filter changes are reported by calls of `filterChanged`.
    const openedAt = store.position.index
    for (;;) {
      stream.ended.throwIfAborted()
      const reason = findResyncReason(this.#state, cursor)
      if (reason !== undefined) {
        cursor = await this.#resync(reason)
        continue
      }
      const frames = await store.framesAfter(cursor, this.#options.batchBytes)
      if (frames === undefined) {
        this.#count('missing_guard')
        cursor = await this.#resync('no matching WALs available')
      } else if (frames.length > 0) {
        this.#count('scanned_entries', frames.length)
        await this.#send(frames)
        const missed = frames.filter(({ firstIndex }) => firstIndex <= openedAt)
        const at = findFilterChange(missed, filterIds)
        if (at !== undefined) this.#take({ on: 'filter-changed', at })
        cursor = frames[frames.length - 1]?.lastIndex ?? cursor
        if (cursor >= store.position.index) await this.#happened({ on: 'caught-up' })
      } else if (store.position.index <= cursor) {
        await this.#happened({ on: 'caught-up' })
        await this.#changed()
      }
    }
  }

  /** Counts lookups of positions in the log. Operators monitor `missing_guard`: each one causes a full comparison. */
  #count(what: 'guard_found' | 'missing_guard' | 'scanned_entries', value = 1): void {
    this.#options.recorder.record(`vault.logshipper.streamWALs.${what}`, value)
  }

  async #send(frames: readonly Frame[]): Promise<void> {
    const { kind, store, stream } = this.#options
    const filter = this.#options.filter()
    const slices: FrameSliceMessage[] = []
    let bytes = 0
    for (const frame of frames) {
      const slice = sliceOf(frame, { kind, filter })
      bytes += slice.frame.length
      addSlice(slices, slice)
    }
    await stream.send({ shipment: { slices, last_index: lastIndexOf(store, kind) } }, bytes)
  }

  /**
   * Offers resync sessions until the secondary sends a position that this log contains. Resolves to the index of this
   * position.
   */
  async #resync(first: string): Promise<number> {
    const { store, stream } = this.#options
    await this.#offer(first)
    for (;;) {
      stream.ended.throwIfAborted()
      const state = this.#state
      if (state.is === 'lost') {
        await this.#offer(state.reason)
      } else if (state.is !== 'placed') {
        await this.#changed()
      } else if (store.hasPosition(state.start)) {
        this.#take({ on: 'resumed' })
        return state.start.index
      } else {
        await this.#offer('no matching WALs available')
      }
    }
  }

  async #offer(reason: string): Promise<void> {
    const { kind, stream, sessions, commonName, epoch, log } = this.#options
    await this.#happened({ on: 'resync' })
    // The filter must be read in the same event-loop turn as the snapshot, which must not contain writes after a filter
    // change.
    const filter = this.#options.filter()
    const session = sessions.open(commonName, { kind, filter })
    const { position, trees } = session.snapshot
    const before = this.#state
    const isFilterNew = filter !== undefined && !('under' in before && before.under === filter.fingerprint)
    this.#take({ on: 'offered', session, filter: filter?.fingerprint ?? '' })
    log.info('offering a merkle sync', { reason, index: position.index })
    await stream.send({
      resync: {
        session: session.id,
        position: { index: position.index, hash: position.hash, epoch: epoch() },
        replicated_root: trees.replicated.root(),
        local_root: kind === 'dr' ? trees.local.root() : Buffer.alloc(0),
        is_filtered: filter !== undefined,
        is_filter_new: isFilterNew,
        rule: filter ? JSON.stringify(filter.rule) : '',
        filtered_digest: filteredDigest(await session.snapshot.filtered('replicated')),
        reason,
      },
    })
  }

  async #listen(): Promise<never> {
    const { stream } = this.#options
    for (;;) {
      for (const up of await stream.receive()) {
        if (up.message === 'applied_index') this.#take({ on: 'applied', index: up.applied_index ?? 0 })
        if (up.message === 'start' && up.start) this.#take({ on: 'start', start: up.start })
        if (up.message === 'lost_place')
          this.#take({ on: 'place-lost', reason: up.lost_place ?? '', session: up.last_session })
      }
      this.#wakers.emit()
    }
  }

  async #happened(event: ShippingEvent): Promise<void> {
    await Promise.all(this.#take(event))
  }

  /** Handles an event. Synchronous effects are complete on return. Returns the promises of the other effects. */
  #take(event: ShippingEvent): readonly Promise<void>[] {
    const { to, effects } = step(SHIPPING, this.#state, event)
    this.#state = to
    const lasting: Promise<void>[] = []
    for (const effect of effects) {
      if (effect.do === 'close') lasting.push(this.#options.sessions.close(effect.session))
      else this.#options.onApplied(effect.index, effect.state)
    }
    return lasting
  }

  #changed(): Promise<void> {
    return nextChange(this.#wakers.add, this.#options.stream.ended)
  }
}
