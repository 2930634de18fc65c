import type { Facilities } from '../../base/facilities.js'
import { type Recorder, silentRecorder } from '../../base/meter.js'
import type { Tree } from '../../storage/keys/key-families.js'
import type { ReplicableStore } from '../../storage/keys/replicable.js'
import { lastIndexOf } from '../host/announced.js'
import type { PrimaryService } from '../host/services.js'
import { currentEpoch } from '../model/epoch.js'
import type { ClusterPort } from '../rpc/transport.js'
import type * as Messages from '../rpc/messages.js'
import { countedService } from '../rpc/counted-service.js'
import { refusalError } from '../rpc/refusal.js'
import type { Caller, ClusterService, PrimaryStream } from '../rpc/service.js'
import { parsePeer, toPeerMessage } from '../rpc/peer-identity.js'
import {
  type Kind,
  parseStreamState,
  type PrimaryHooks,
  type Refusal,
  type RpcMethod,
  type ServerIdentity,
  type PeerIdentity,
} from '../model/types.js'
import { createPacer } from './pacer.js'
import { SecondaryRegistry } from './secondary-registry.js'
import { Shipper } from './shipper.js'
import { SyncSessions } from './sync-sessions.js'

interface StreamServerOptions extends Pick<Facilities, 'clock' | 'log'> {
  readonly kind: Kind
  readonly store: ReplicableStore
  readonly hooks: PrimaryHooks
  /** Maximum bytes of a log message. A message with one larger transaction may exceed it. */
  readonly shipBatchBytes: number
  /** Called when a secondary connects, disconnects or changes its position. */
  readonly onChange?: () => void
  readonly recorder?: Recorder | undefined
}

/** The primary side of one kind of replication: serves the calls of secondaries, and streams the log to each. */
export class StreamServer implements ClusterService, PrimaryService {
  readonly registry: SecondaryRegistry
  readonly #options: StreamServerOptions
  readonly #sessions: SyncSessions
  readonly #shippers = new Map<string, Shipper>()
  readonly #running = new Set<Promise<unknown>>()
  #attached: { port: ClusterPort; serverName: string } | undefined
  #isStopped = false

  constructor(options: StreamServerOptions) {
    this.#options = options
    this.#sessions = new SyncSessions(options.store)
    this.registry = new SecondaryRegistry(options.clock, options.onChange ?? (() => undefined))
  }

  /** Starts to serve secondaries on the cluster port. */
  attach(port: ClusterPort, identity: ServerIdentity): void {
    this.#attached = { port, serverName: identity.serverName }
    const { kind, recorder = silentRecorder, clock } = this.#options
    port.serve(identity, countedService(this, kind, recorder, clock))
  }

  /**
   * Ends the streams of a secondary and destroys its connections, so that nothing more is sent. The caller must first
   * remove the registration that `hooks.admit` checks. `commonName` is the name of its certificate, for a secondary
   * that never opened a stream.
   */
  revoke(secondaryId: string, commonName: string): void {
    const connectedAs = this.registry.revoke(secondaryId)
    for (const name of new Set([commonName, connectedAs ?? commonName])) {
      this.#attached?.port.cut(this.#attached.serverName, name)
    }
  }

  filterChanged(secondaryId: string): void {
    this.#shippers.get(secondaryId)?.filterChanged()
  }

  addressesChanged(): void {
    for (const shipper of this.#shippers.values()) shipper.addressesChanged()
  }

  refuseAll({ code, text, overtaker }: Refusal): void {
    for (const stream of this.registry.streams) stream.end(refusalError(code, text, { overtaker }))
  }

  /** Ends every stream with a reason, stops serving secondaries, and waits for pending calls. */
  async stop(reason = 'the primary is stopping'): Promise<void> {
    this.#isStopped = true
    for (const stream of this.registry.streams) stream.end(refusalError('unavailable', reason))
    await Promise.allSettled(this.#running)
    this.#attached?.port.withdraw(this.#attached.serverName)
  }

  async bootstrap(caller: Caller, request: Messages.BootstrapRequest): Promise<Messages.BootstrapReply> {
    const { secondaryId, who } = this.#admit('Bootstrap', caller, request.who)
    const { hooks } = this.#options
    const { commonName } = caller
    const given = await hooks.bootstrap({ secondaryId, commonName }, who, request.wants_dev_root)
    const { rootKey, records, extra } = given
    return { who: this.#who(), root_key: rootKey, records: [...records], extra }
  }

  async echo(caller: Caller, request: Messages.EchoRequest): Promise<Messages.EchoReply> {
    const { secondaryId, who } = this.#admit('Echo', caller, request.who)
    this.registry.heard(secondaryId, who, {
      lastHeartbeatDurationMs: request.last_duration_ms,
      clockSkewMs: request.clock_skew_ms,
      canaryAgeMs: request.canary_age_ms,
      state: parseStreamState(request.state),
    })
    const { store, kind, hooks, clock } = this.#options
    return {
      who: this.#who(),
      time_ms: clock.now(),
      last_index: lastIndexOf(store, kind),
      primary_addresses: [...hooks.primaryAddresses()],
    }
  }

  async streamWals(caller: Caller, stream: PrimaryStream): Promise<void> {
    const run = this.#stream(caller, stream)
    this.#running.add(run)
    try {
      await run
    } finally {
      this.#running.delete(run)
    }
  }

  async conflictingPages(
    caller: Caller,
    request: Messages.ConflictingPagesRequest,
  ): Promise<Messages.ConflictingPagesReply> {
    this.#admit('ConflictingPages', caller, request.who)
    const session = this.#sessions.find(request.session, caller.commonName)
    return { who: this.#who(), ...session.conflictingPages(treeOf(request.tree), request.pages) }
  }

  async subPageHashes(caller: Caller, request: Messages.SubPageHashesRequest): Promise<Messages.SubPageHashesReply> {
    this.#admit('SubPageHashes', caller, request.who)
    const session = this.#sessions.find(request.session, caller.commonName)
    return { who: this.#who(), sub_pages: session.subPageHashes(treeOf(request.tree), request.groups) }
  }

  async *fetchKeys(caller: Caller, request: Messages.FetchKeysRequest): AsyncGenerator<Messages.FetchKeysReply> {
    this.#admit('FetchKeys', caller, request.who)
    const session = this.#sessions.find(request.session, caller.commonName)
    const tree = treeOf(request.tree)
    const rest = createPacer(this.#options.clock, () => this.#options.store.position.index)
    const replies = request.is_whole ? session.fetchTree(tree) : session.fetchSubPages(tree, request.sub_pages)
    for await (const reply of replies) {
      // Throws if the stream and its session have ended, for example because the secondary was revoked.
      this.#sessions.find(session.id, caller.commonName)
      yield reply
      await rest()
    }
  }

  async forward(caller: Caller, request: Messages.ForwardRequest): Promise<Messages.ForwardReply> {
    const { secondaryId } = this.#admit('Forward', caller, request.who)
    const payload = await this.#options.hooks.forward(secondaryId, request.payload, caller.gone)
    return { who: this.#who(), payload }
  }

  async ping(caller: Caller, request: Messages.PingRequest): Promise<Messages.PingReply> {
    this.#admit('Ping', caller, request.who)
    return { who: this.#who() }
  }

  async commonPosition(caller: Caller, request: Messages.CommonPositionRequest): Promise<Messages.CommonPositionReply> {
    this.#admit('CommonPosition', caller, request.who)
    const { store } = this.#options
    const common = request.positions.find((position) => store.hasPosition(position))
    return { who: this.#who(), common_index: common?.index ?? 0, last_index: store.position.index }
  }

  async #stream(caller: Caller, stream: PrimaryStream): Promise<void> {
    const { kind, store, hooks, log, shipBatchBytes, recorder = silentRecorder } = this.#options
    const [first, ...rest] = await stream.receive()
    const open = first?.open
    if (!open || rest.length > 0) throw refusalError('failed', 'a stream must begin with exactly one opening message')
    const { secondaryId, who } = this.#admit('StreamWals', caller, open.who)
    this.#requireNotRewound(secondaryId, open.position)
    this.registry.opened(secondaryId, caller.commonName, who, stream)
    const shipper = new Shipper({
      kind,
      store,
      stream,
      sessions: this.#sessions,
      commonName: caller.commonName,
      batchBytes: shipBatchBytes,
      epoch: () => currentEpoch(hooks.who().epochs)?.id ?? '',
      filter: () => (kind === 'performance' ? hooks.filterFor(secondaryId) : undefined),
      filterIds: kind === 'performance' ? [secondaryId, who.clusterId] : [],
      addresses: () => hooks.primaryAddresses(),
      onApplied: (index, state) => this.registry.applied(secondaryId, stream, index, state),
      recorder,
      log: log.with({ secondary: secondaryId, kind }),
    })
    this.#shippers.set(secondaryId, shipper)
    log.info('secondary connected', { secondary: secondaryId, kind })
    try {
      await stream.send({ accepted: { who: this.#who(), last_index: lastIndexOf(store, kind) } })
      await shipper.run({ position: open.position, filter: open.filter })
    } finally {
      if (this.#shippers.get(secondaryId) === shipper) this.#shippers.delete(secondaryId)
      this.registry.closed(secondaryId, stream)
      log.info('secondary disconnected', { secondary: secondaryId, kind })
    }
  }

  /**
   * Throws a refusal (`rewound`) if a secondary has a position of this epoch that the log should contain but does not.
   * The secondary then has data that this primary has lost. Such data must not be overwritten without a decision of an
   * operator. Positions before the start of the log are accepted: they were trimmed, or a restored snapshot skipped
   * them.
   */
  #requireNotRewound(secondaryId: string, position: Messages.PositionMessage | null): void {
    const { store, hooks, kind, log } = this.#options
    if (!position || position.epoch !== currentEpoch(hooks.who().epochs)?.id) return
    if (!store.isAstray(position)) return
    const lastIndex = store.position.index
    log.error('a secondary is ahead of this primary, which was restored to an earlier state', {
      kind,
      secondary: secondaryId,
      index: position.index,
      lastIndex,
    })
    throw refusalError('rewound', `the log of this primary no longer contains index ${position.index}`)
  }

  #admit(
    method: RpcMethod,
    caller: Caller,
    message: Messages.PeerIdentityMessage | null,
  ): { secondaryId: string; who: PeerIdentity } {
    if (this.#isStopped) throw refusalError('unavailable', 'the primary is stopping')
    const who = parsePeer(message)
    const admission = this.#options.hooks.admit({ method, commonName: caller.commonName, who })
    if (!admission.ok) throw refusalError(admission.code, admission.text, admission)
    return { secondaryId: admission.secondaryId, who }
  }

  #who(): Messages.PeerIdentityMessage {
    return toPeerMessage(this.#options.hooks.who())
  }
}

const treeOf = (number: 0 | 1): Tree => (number === 1 ? 'local' : 'replicated')
