import { awaitChange } from '../../base/await-change.js'
import { Backoff } from '../../base/backoff.js'
import { linkSignals } from '../../base/linked-signal.js'
import { messageOf } from '../../base/printable.js'
import { LogicalError } from '../../logical/errors.js'
import type { EpochChain } from '../model/epoch.js'
import type { FollowerService, ForwardReply } from '../host/services.js'
import { PRIMARY_UNREACHABLE_TEXT } from '../model/guard-texts.js'
import type { PrimaryConnection } from '../rpc/transport.js'
import { atActiveNode } from '../rpc/active-node.js'
import { overtakerIn, refusalCodeOf, refusalError } from '../rpc/refusal.js'
import type * as Model from '../model/types.js'
import { Addresses } from './addresses.js'
import {
  CONNECTION_PHASES,
  type ConnectionPhase,
  type ConnectionEvent,
  isRedialled,
  refusalIn,
  shownAs,
} from './connection-phase.js'
import { Heartbeat } from './heartbeat.js'
import { epochOf, KnownPrimary } from './known-primary.js'
import { type FollowerOptions, followOver, forwardOver, type LinkEvents } from './link.js'
import { type SurplusEntries, RecentFrames } from '../model/recent-frames.js'
import { type Pong, pingPrimaries } from './pinger.js'
import { SYNC_STATES, type SyncState, type SyncStateEvent, initialSyncState } from './sync-state.js'
import { step } from '../model/state-table.js'
import type { WalPosition } from '../../storage/keys/replicable.js'

/** Number of failed attempts at all known addresses before former addresses are tried. */
const ROUNDS_BEFORE_FORMER = 3

/**
 * The secondary side of one kind of replication. Keeps one connection to the primary, at any of its addresses, and
 * keeps the store in sync. `state` describes the data, which outlives the connection. `connectionState` describes the
 * connection.
 */
export class Follower implements FollowerService {
  readonly #options: FollowerOptions
  readonly #addresses: Addresses
  readonly #heartbeat: Heartbeat
  readonly #recent = new RecentFrames()
  readonly #primary = new KnownPrimary()
  readonly #stop = new AbortController()
  #endPause: () => void = () => undefined
  #phase: ConnectionPhase = { is: 'unstarted' }
  #syncState: SyncState
  #running: Promise<void> = Promise.resolve()

  constructor(options: FollowerOptions) {
    this.#options = options
    this.#addresses = new Addresses(options.addresses, options.formerAddresses)
    const { remotePosition, isResyncing } = options.store
    this.#syncState = initialSyncState(remotePosition, isResyncing)
    const { clock, times, hooks } = options
    this.#heartbeat = new Heartbeat({
      clock,
      times,
      who: () => hooks.who(),
      progress: () => ({ appliedIndex: this.applied?.index ?? 0, state: this.state }),
      onReply: ({ primary, addresses, lastIndex }) => this.#heard(primary, addresses, lastIndex),
    })
  }

  start(): void {
    if (this.#phase.is === 'unstarted') this.#running = this.#run()
  }

  /** Closes the connection and waits for pending work. The follower cannot be started again. */
  async stop(): Promise<void> {
    this.#stop.abort(new LogicalError('unavailable', 'the follower is stopping'))
    this.#endPause()
    await this.#running
    this.#link({ on: 'stop' })
  }

  get state(): Model.StreamState {
    return this.#syncState.is
  }

  get connectionState(): Model.ConnectionState {
    return shownAs(this.#phase)
  }

  get refusal(): Model.RefusalCode | undefined {
    return refusalIn(this.#phase)
  }

  get primaryAddress(): string {
    return this.#addresses.current
  }

  get knownPrimaryAddresses(): readonly string[] {
    return this.#addresses.known
  }

  get primaryEpochs(): EpochChain {
    return this.#primary.epochs
  }

  /**
   * The applied position in the primary's log. After a primary of another epoch has accepted this cluster, the index is
   * 0 until the position in the log of this primary is known.
   */
  get applied(): Model.PrimaryPosition | undefined {
    return this.#syncState.applied
  }

  get announced(): Model.PrimaryPosition | undefined {
    return this.#primary.announced
  }

  recentAfter(index: number): Pick<SurplusEntries, 'frames' | 'isComplete'> {
    return this.#recent.after(index)
  }

  recentPositions(): readonly WalPosition[] {
    return this.#recent.positions()
  }

  /** Progress of a running Merkle sync; undefined if none is running. */
  get syncProgress(): Model.SyncProgress | undefined {
    return this.#syncState.is === 'merkle-sync' ? this.#syncState.progress : undefined
  }

  /** The primary for the status; undefined until it has responded once. */
  get primary(): Model.PrimaryView | undefined {
    return this.#primary.view(this.connectionState === 'ready', this.#addresses.current, this.#heartbeat)
  }

  /**
   * Forwards a request to the primary. Rejects immediately with `LogicalError` `unavailable` if this cluster is not
   * connected. If the connection fails after the request was sent, the error text contains `outcome unknown`.
   */
  async forward(payload: Buffer, signal?: AbortSignal): Promise<ForwardReply> {
    const link = this.#phase
    if (link.is !== 'connected') throw new LogicalError('unavailable', PRIMARY_UNREACHABLE_TEXT)
    return forwardOver(link.connection, this.#options, payload, signal)
  }

  async updateAddresses(addresses: readonly string[]): Promise<Pong> {
    const { hooks } = this.#options
    const pong = await pingPrimaries(addresses, {
      ...this.#options,
      who: hooks.who(),
      findObjection: (primary) => hooks.findObjection(primary),
      signal: this.#stop.signal,
    })
    this.#addresses.learn([pong.address])
    if (this.#addresses.answered(pong.address) && 'redial' in this.#phase) {
      this.#phase.redial.abort(new LogicalError('unavailable', 'the follower connects to another address'))
    }
    hooks.onPrimaryAddresses(this.#addresses)
    this.#endPause()
    return pong
  }

  async #run(): Promise<void> {
    const { times, random } = this.#options
    const backoff = new Backoff({ initialMs: times.backoffInitialMs, maxMs: times.backoffMaxMs }, random)
    for (let failed = 0; !this.#stop.signal.aborted; failed++) {
      const former = failed < ROUNDS_BEFORE_FORMER ? undefined : this.#addresses.nextFormer()
      for (const address of [...this.#addresses.dialOrder, ...(former === undefined ? [] : [former])]) {
        if (this.#stop.signal.aborted) break
        const wasReady = await this.#attempt(address)
        if (!wasReady) continue
        backoff.reset()
        failed = 0
        break
      }
      if (this.#stop.signal.aborted) return
      if (isRedialled(this.#phase)) continue
      this.#link({ on: 'wait' })
      const delayMs = backoff.next()
      this.#options.log.debug('encountered error, applying backoff', { backoffMs: Math.round(delayMs) })
      const watch = (end: () => void) => {
        this.#endPause = end
        return () => undefined
      }
      await awaitChange(watch, () => true, { clock: this.#options.clock, timeoutMs: delayMs })
    }
  }

  /**
   * Tries one address and follows the primary until the connection ends. Resolves to true if the primary had accepted
   * this cluster.
   */
  async #attempt(address: string): Promise<boolean> {
    const redial = new AbortController()
    using linked = linkSignals([this.#stop.signal, redial.signal])
    const { signal } = linked
    this.#link({ on: 'dial', redial })
    try {
      return await atActiveNode(address, async (at) => {
        const connection = await this.#options.transport.connect(at, { ...this.#options, signal })
        const events = { ...this.#eventsOf(connection), heartbeat: this.#heartbeat }
        return followOver(connection, this.#options, events, signal)
      })
    } catch (error) {
      const wasConnected = this.#phase.is === 'connected'
      if (!signal.aborted) this.#failed(address, error)
      this.#link({ on: 'ended', refusal: signal.aborted ? undefined : refusalCodeOf(error) })
      return wasConnected
    }
  }

  #eventsOf(connection: PrimaryConnection): LinkEvents {
    const { log, kind } = this.#options
    return {
      onAccepted: (primary, lastIndex) => {
        this.#primary.accepted(primary, lastIndex, this.#options.clock.now())
        this.#enterSyncState({ on: 'taken', epoch: epochOf(primary) })
        log.info('primary connected', { address: connection.address, kind })
        if (this.#addresses.answered(connection.address)) this.#reportAddresses()
        this.#link({ on: 'accepted', connection })
      },
      enter: (state) => this.#enterSyncState({ on: state }),
      onProgress: (progress) => this.#enterSyncState({ on: 'progress', progress }),
      onAnnounced: (index) => this.#primary.announce(index),
      onApplied: (position) => this.#enterSyncState({ on: 'applied', position }),
      onAddresses: (addresses) => this.#learn(addresses),
      recent: this.#recent,
    }
  }

  #heard(primary: Model.PeerIdentity, addresses: readonly string[], lastIndex: number): void {
    const objection = this.#options.hooks.findObjection(primary)
    if (objection !== undefined) throw refusalError('epoch', objection)
    this.#primary.heard(primary, lastIndex)
    this.#learn(addresses)
  }

  #learn(addresses: readonly string[]): void {
    if (this.#addresses.learn(addresses)) this.#reportAddresses()
  }

  #failed(address: string, error: unknown): void {
    const { log } = this.#options
    const refusal = refusalCodeOf(error)
    const text = messageOf(error)
    if (!(error instanceof LogicalError)) log.error('cannot follow the primary', { address, error: text })
    else if (this.#phase.is === 'connected') log.info('primary connection lost', { address, error: text })
    else log.debug('cannot connect to the primary', { address, error: text, refusal })
    if (refusal === undefined) return
    if (refusal === 'over' && this.#phase.is === 'connected') this.#options.hooks.onEpochEnded()
    const overtaker = overtakerIn(error)
    if (overtaker) this.#learn([...overtaker.clusterAddresses, ...this.#addresses.known])
    if (refusal !== this.refusal) log.warn('the primary refuses this cluster', { address, refusal, text })
  }

  #link(event: ConnectionEvent): void {
    const before = this.connectionState
    const { to, effects } = step(CONNECTION_PHASES, this.#phase, event)
    this.#phase = to
    for (const effect of effects) if (effect.do === 'stand-still') this.#enterSyncState({ on: 'idle' })
    if (this.connectionState !== before) this.#options.hooks.onChange?.()
  }

  #enterSyncState(event: SyncStateEvent): void {
    const from = this.state
    this.#syncState = step(SYNC_STATES, this.#syncState, event).to
    if (this.state === from) return
    this.#options.log.info('transitioning state', { state: this.state, from, kind: this.#options.kind })
    this.#options.hooks.onChange?.()
  }

  #reportAddresses(): void {
    this.#options.hooks.onPrimaryAddresses(this.#addresses)
    this.#options.hooks.onChange?.()
  }
}
