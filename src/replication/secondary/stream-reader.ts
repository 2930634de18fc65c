import type { Clock } from '../../base/clock.js'
import type { Recorder } from '../../base/meter.js'
import { LogicalError } from '../../logical/errors.js'
import type { RemotePosition } from '../../storage/keys/replicable.js'
import type { FollowerStream, PrimaryConnection } from '../rpc/transport.js'
import type { FrameSliceMessage, ReceivedDown, ResyncNeeded } from '../rpc/messages.js'
import type { PrimaryPosition } from '../model/types.js'
import { Applier, requirePositionAt } from './applier.js'
import { withMessageTimeout, MESSAGE_TIMEOUT_MS, watchSilence } from './message-timeout.js'
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
  readonly onApplied: (position: PrimaryPosition) => void
  readonly onAddresses: (addresses: readonly string[]) => void
  /** Returns the time in milliseconds for which an announced entry has been missing; 0 if none is missing. */
  readonly lagMs: () => number
}

const SILENT = `the primary has sent nothing for ${MESSAGE_TIMEOUT_MS / 1000} s, although entries or a comparison are due`

/**
 * Number of consecutive comparisons with different roots after which the trees are rebuilt from the data. After
 * `UNEQUAL_MAX`, the stream fails with an error. Equal roots reset the count.
 */
const UNEQUAL_BEFORE_REINDEX = 2
const UNEQUAL_MAX = 4
/** Maximum difference between the received and the stored position. They differ while no entry changes local data. */
const UNSTORED_INDEXES_MAX = 1000

/** Reads one stream of the log to its end. Applies entries, and resyncs when the primary offers a session. */
export class StreamReader {
  readonly #comparing: Pick<PrimaryConnection, 'call' | 'fetchKeys'>
  readonly #stream: FollowerStream
  readonly #options: StreamReaderOptions
  /** Undefined from the loss of the position until the next resync is complete. */
  #applier: Applier | undefined
  #unequal = 0
  #lastSession = ''

  constructor(
    connection: Pick<PrimaryConnection, 'call' | 'fetchKeys'>,
    stream: FollowerStream,
    options: StreamReaderOptions,
  ) {
    const onSilence = () => this.#stream.end(new LogicalError('unavailable', SILENT))
    this.#comparing = withMessageTimeout(connection, { clock: options.clock, onSilence })
    this.#stream = stream
    this.#options = options
  }

  /**
   * Reads the stream from the position that was stored when the stream was requested. Always rejects, with the reason
   * of the stream's end or with a failure.
   */
  async run(position: RemotePosition | undefined, early: readonly ReceivedDown[], signal: AbortSignal): Promise<never> {
    requirePositionAt(this.#options.store, position)
    if (position) await this.#continueFrom(position)
    try {
      await this.#take(early, signal)
      for (;;) await this.#take(await this.#receive(), signal)
    } finally {
      await this.#applier?.flush()
    }
  }

  /**
   * Receives messages. The primary may be silent if it has nothing to send. If entries or a comparison are due, a
   * silent primary ends the stream, and the follower reconnects.
   */
  #receive(): Promise<readonly ReceivedDown[]> {
    const { clock, lagMs, epoch } = this.#options
    const onSilence = () => {
      const isInStep = this.#applier?.position.epoch === epoch && lagMs() < MESSAGE_TIMEOUT_MS
      if (!isInStep) this.#stream.end(new LogicalError('unavailable', SILENT))
    }
    return watchSilence({ clock, onSilence }, this.#stream.receive())
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
        // The session includes the frames that were sent before its offer.
        slices = []
        isShipped = false
        this.#applier = undefined
        await this.#resync(down.resync, signal)
      }
    }
    if (this.#applier && isShipped) await this.#advance(this.#applier, slices, signal)
  }

  /**
   * Applies entries. A message without entries, and entries that continue from the position, both confirm that the
   * primary has found the position in its log. The position then belongs to the primary's epoch.
   */
  async #advance(applier: Applier, slices: readonly FrameSliceMessage[], signal: AbortSignal): Promise<void> {
    const isFound = applier.position.epoch !== this.#options.epoch || slices.length === 0
    if (slices.length > 0) {
      await this.#options.hooks.beforeState('apply', signal)
      const applied = await applier.apply(slices)
      if (!applied.ok) return this.#losePosition(applied.reason)
    } else applier.confirm()
    const { position } = applier
    const unstored = position.index - (this.#options.store.remotePosition?.index ?? 0)
    if (isFound || unstored > UNSTORED_INDEXES_MAX) await applier.flush()
    if (isFound) await this.#options.hooks.onSynced(true)
    this.#options.onApplied(position)
    await this.#stream.send({ applied_index: position.index })
  }

  /** Requests a resync. Drops further entries until the primary offers a session. */
  async #losePosition(reason: string): Promise<void> {
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
      await this.#continueFrom(position)
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
    await this.#losePosition('the roots differ after the sync')
  }

  async #continueFrom(position: RemotePosition): Promise<void> {
    const { log, epoch, recent, enter, onApplied } = this.#options
    recent.begin(position)
    const beforeFilterChange = (ids: readonly string[]) => this.#options.hooks.beforeFilterChange(ids)
    this.#applier = new Applier(this.#options.store, position, { epoch, recent, beforeFilterChange })
    // An index of another epoch means nothing until the primary has found it in its own log.
    if (position.epoch === epoch) {
      await this.#options.hooks.onSynced(false)
      onApplied(position)
    } else enter('merkle-diff')
    log.debug('requesting WAL stream', { guard: position.hash.toString('hex').slice(0, 8), index: position.index })
  }
}
