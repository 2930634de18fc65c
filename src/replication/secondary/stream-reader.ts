import type { Clock } from '../../base/clock.js'
import type { Recorder } from '../../base/meter.js'
import { LogicalError } from '../../logical/errors.js'
import type { RemotePosition } from '../../storage/keys/replicable.js'
import type { FollowerStream, PrimaryConnection } from '../rpc/transport.js'
import type { FrameSliceMessage, ReceivedDown, ResyncNeeded } from '../rpc/messages.js'
import type { PrimaryPosition } from '../model/types.js'
import { Applier, requirePositionAt } from './applier.js'
import { comparingOver, PATIENCE_MS, withPatience } from './patience.js'
import type { RecentFrames } from '../model/recent-frames.js'
import { type ResyncOptions, resync } from './resync.js'
import type { EnteredState } from './sync-state.js'

interface StreamReaderOptions extends ResyncOptions {
  readonly clock: Clock
  readonly recorder?: Recorder | undefined
  readonly epoch: string
  readonly recent: RecentFrames
  readonly enter: (state: EnteredState) => void
  readonly onAnnounced: (lastIndex: number) => void
  readonly onApplied: (place: PrimaryPosition) => void
  readonly onAddresses: (addresses: readonly string[]) => void
  /** Returns how long an announced entry has been missing here; 0 if none is missing. */
  readonly lagMs: () => number
}

const SILENT = `the primary has sent nothing for ${PATIENCE_MS / 1000} s, although entries or a comparison are due`

/**
 * After this number of consecutive comparisons with different roots, the trees are rebuilt from the data. After
 * `UNEQUAL_MAX`, replication reports an error. Equal roots reset the count.
 */
const UNEQUAL_BEFORE_REINDEX = 2
const UNEQUAL_MAX = 4
/** Maximum number of indexes between the position and the stored position, while no entry affects this cluster. */
const UNSTORED_INDEXES_MAX = 1000

/** Reads one stream of the log to its end: applies its entries, and resyncs when the primary offers a session. */
export class StreamReader {
  readonly #comparing: Pick<PrimaryConnection, 'call' | 'fetchKeys'>
  readonly #stream: FollowerStream
  readonly #options: StreamReaderOptions
  /** Undefined while the position is lost, until a resync is complete. */
  #applier: Applier | undefined
  #unequal = 0
  #lastSession = ''

  constructor(
    connection: Pick<PrimaryConnection, 'call' | 'fetchKeys'>,
    stream: FollowerStream,
    options: StreamReaderOptions,
  ) {
    const onSilence = () => this.#stream.end(new LogicalError('unavailable', SILENT))
    this.#comparing = comparingOver(connection, { clock: options.clock, onSilence })
    this.#stream = stream
    this.#options = options
  }

  /**
   * Continues from the position that was stored when the stream was requested, if any. Always rejects: with the reason
   * of the stream's end, or with a failure.
   */
  async run(place: RemotePosition | undefined, early: readonly ReceivedDown[], signal: AbortSignal): Promise<never> {
    requirePositionAt(this.#options.store, place)
    if (place) await this.#goOn(place)
    try {
      await this.#take(early, signal)
      for (;;) await this.#take(await this.#receive(), signal)
    } finally {
      await this.#applier?.flush()
    }
  }

  /**
   * Receives messages. Silence is normal while the primary has nothing to send. If entries or a comparison are due and the
   * primary is silent, ends the stream, and the follower reconnects.
   */
  #receive(): Promise<readonly ReceivedDown[]> {
    const { clock, lagMs, epoch } = this.#options
    const onSilence = () => {
      const isInStep = this.#applier?.position.epoch === epoch && lagMs() < PATIENCE_MS
      if (!isInStep) this.#stream.end(new LogicalError('unavailable', SILENT))
    }
    return withPatience({ clock, onSilence }, this.#stream.receive())
  }

  async #take(messages: readonly ReceivedDown[], signal: AbortSignal): Promise<void> {
    let slices: FrameSliceMessage[] = []
    let isShipped = false
    for (const down of messages) {
      if (down.message === 'shipment' && down.shipment) {
        this.#options.onAnnounced(down.shipment.last_index)
        if (this.#applier) slices.push(...down.shipment.slices)
        isShipped = true
      } else if (down.message === 'addresses' && down.addresses) {
        this.#options.onAddresses(down.addresses.addresses)
      } else if (down.message === 'resync' && down.resync) {
        // The session includes the frames that arrived before its offer.
        slices = []
        isShipped = false
        this.#applier = undefined
        await this.#resync(down.resync, signal)
      }
    }
    if (this.#applier && isShipped) await this.#advance(this.#applier, slices, signal)
  }

  /**
   * Applies entries. A message without entries confirms that the primary has found the position in its log. Entries
   * that continue from the position confirm this too. The follower then follows the log in its new epoch.
   */
  async #advance(applier: Applier, slices: readonly FrameSliceMessage[], signal: AbortSignal): Promise<void> {
    const isFound = applier.position.epoch !== this.#options.epoch || slices.length === 0
    if (slices.length > 0) {
      await this.#options.hooks.beforeState('apply', signal)
      const applied = await applier.apply(slices)
      if (!applied.ok) return this.#losePlace(applied.reason)
    } else applier.confirm()
    const { position } = applier
    const unstored = position.index - (this.#options.store.remotePosition?.index ?? 0)
    if (isFound || unstored > UNSTORED_INDEXES_MAX) await applier.flush()
    if (isFound) await this.#options.hooks.onSynced()
    this.#options.onApplied(position)
    await this.#stream.send({ applied_index: position.index })
  }

  /** Requests a resync. Until the primary offers a session, the follower drops the entries of the stream. */
  async #losePlace(reason: string): Promise<void> {
    this.#options.log.warn('non-matching guard, exiting', { reason })
    this.#applier = undefined
    this.#options.enter('merkle-diff')
    await this.#stream.send({ lost_place: reason, last_session: this.#lastSession })
  }

  async #resync(offer: ResyncNeeded, signal: AbortSignal): Promise<void> {
    const { clock, recorder } = this.#options
    this.#lastSession = offer.session
    const startMs = clock.monotonic()
    let syncStartMs: number | undefined
    const enter = (state: EnteredState) => {
      if (state === 'merkle-sync') syncStartMs = clock.monotonic()
      this.#options.enter(state)
    }
    const { position, isEqual, changes } = await resync(this.#comparing, offer, { ...this.#options, enter }, signal)
    this.#options.log.info('merkle sync done', { changes, index: position.index })
    const endMs = clock.monotonic()
    recorder?.record('vault.replication.merkleDiff', (syncStartMs ?? endMs) - startMs)
    if (syncStartMs !== undefined) recorder?.record('vault.replication.merkleSync', endMs - syncStartMs)
    if (isEqual) {
      this.#unequal = 0
      await this.#options.hooks.onCompared(offer.rule)
      await this.#goOn(position)
      await this.#stream.send({ start: position })
      return
    }
    this.#unequal++
    if (this.#unequal === UNEQUAL_BEFORE_REINDEX) await this.#options.hooks.reindex()
    if (this.#unequal >= UNEQUAL_MAX) {
      const text = 'state is still irreconcilable after reindex, try reindexing primary cluster'
      this.#options.log.error(text)
      throw new LogicalError('unavailable', text)
    }
    await this.#losePlace('the roots differ after the sync')
  }

  async #goOn(place: RemotePosition): Promise<void> {
    const { log, epoch, recent, enter, onApplied } = this.#options
    recent.begin(place)
    const beforeFilterChange = (ids: readonly string[]) => this.#options.hooks.beforeFilterChange(ids)
    this.#applier = new Applier(this.#options.store, place, { epoch, recent, beforeFilterChange })
    // An index in another epoch is meaningless until the primary has found it in its own log.
    if (place.epoch === epoch) {
      await this.#options.hooks.onSynced()
      onApplied(place)
    } else enter('merkle-diff')
    log.debug('requesting WAL stream', { guard: place.hash.toString('hex').slice(0, 8), index: place.index })
  }
}
