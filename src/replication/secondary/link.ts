import type { Facilities } from '../../base/facilities.js'
import { linkSignals } from '../../base/linked-signal.js'
import type { Recorder } from '../../base/meter.js'
import { LogicalError } from '../../logical/errors.js'
import type { ReplicableStore } from '../../storage/keys/replicable.js'
import type { ForwardReply } from '../host/services.js'
import { chainUpTo, currentEpoch, findSurplus } from '../model/epoch.js'
import { PRIMARY_UNREACHABLE_TEXT } from '../model/guard-texts.js'
import type { ReceivedDown } from '../rpc/messages.js'
import type { ClusterTransport, FollowerStream, PrimaryConnection } from '../rpc/transport.js'
import { refusalCodeOf, refusalError } from '../rpc/refusal.js'
import { parsePeer, toPeerMessage } from '../rpc/peer-identity.js'
import type * as Model from '../model/types.js'
import type { Heartbeat } from './heartbeat.js'
import { isAstrayFrom, type RecentFrames, surplusEntriesOf } from '../model/recent-frames.js'
import type { EnteredState } from './sync-state.js'
import { StreamReader } from './stream-reader.js'

export interface FollowerOptions extends Pick<Facilities, 'clock' | 'random' | 'log'> {
  readonly kind: Model.Kind
  readonly store: ReplicableStore
  readonly hooks: Model.SecondaryHooks
  readonly credentials: Model.PrimaryCredentials
  /** Addresses of the primary, best first, as `https://host:port` or `host:port`. */
  readonly addresses: readonly string[]
  /** Addresses to try if none of `addresses` responds. */
  readonly formerAddresses?: readonly string[] | undefined
  readonly times: Model.ReplicationTimes
  /** Bytes of one import of a resync. */
  readonly importBytes: number
  readonly transport: ClusterTransport
  readonly recorder?: Recorder | undefined
}

/** The events that one connection reports to the follower. */
export interface LinkEvents {
  /** The primary and this cluster have accepted each other. `lastIndex` is the last index of the primary's log. */
  onAccepted(primary: Model.PeerIdentity, lastIndex: number): void
  enter(state: EnteredState): void
  onProgress(progress: Model.SyncProgress): void
  onAnnounced(lastIndex: number): void
  onApplied(position: Model.PrimaryPosition): void
  /** Called with the current addresses of the primary and its possible successors. */
  onAddresses(addresses: readonly string[]): void
  /** The last applied frames of all connections. */
  readonly recent: RecentFrames
}

/**
 * Follows the primary over one connection until the connection ends, and closes it. Always rejects after all work has
 * stopped: with the primary's refusal, with the failure, or with the signal's reason.
 */
export const followOver = async (
  connection: PrimaryConnection,
  options: FollowerOptions,
  { heartbeat, ...events }: LinkEvents & { readonly heartbeat: Heartbeat },
  signal: AbortSignal,
): Promise<never> => {
  if (options.hooks.isAhead()) await requireNewerPrimary(connection, options, signal)
  const ending = new AbortController()
  const stream = connection.streamWals()
  using linked = linkSignals([signal, stream.ended, ending.signal])
  const ends = linked.signal
  ends.addEventListener('abort', () => stream.end(), { once: true })
  let work: Promise<never>[] = []
  try {
    const { primary, rest, position } = await openStream(stream, options, events)
    const { hooks } = options
    const isAstray = isAstrayFrom(events.recent.positions())
    const surplus = position && findSurplus(chainUpTo(hooks.who().epochs, position.epoch), primary.epochs, isAstray)
    const entries = position && surplus && surplusEntriesOf(position, surplus, (index) => events.recent.after(index))
    if (entries) await hooks.keepSurplus(entries)
    await hooks.takeEpochs(primary)
    const reader = new StreamReader(connection, stream, {
      ...options,
      ...events,
      who: () => toPeerMessage(options.hooks.who()),
      epoch: currentEpoch(primary.epochs)?.id ?? '',
      lagMs: () => heartbeat.lagMs,
    })
    work = [reader.run(position, rest, ends), heartbeat.run(connection, ends)]
    return await Promise.race(work)
  } catch (error) {
    const isRewound = refusalCodeOf(error) === 'rewound' && !options.hooks.isAhead()
    if (isRewound) await stopAhead(connection, options, events.recent, signal)
    throw error
  } finally {
    ending.abort(new LogicalError('unavailable', 'the connection has ended'))
    connection.close()
    await Promise.allSettled(work)
  }
}

/**
 * Rejects with a refusal and closes the connection unless a cluster that is ahead of a rewound primary may follow this
 * primary. Sends no position, because a primary that has trimmed its log up to that position accepts it, and compares
 * all data.
 */
const requireNewerPrimary = async (
  connection: PrimaryConnection,
  { hooks, times }: FollowerOptions,
  signal: AbortSignal,
): Promise<void> => {
  const limits = { timeoutMs: times.connectTimeoutMs, signal }
  try {
    const { who } = await connection.call('ping', { who: toPeerMessage(hooks.who()) }, limits)
    const objection = hooks.findObjection(parsePeer(who))
    if (objection !== undefined) throw refusalError('rewound', objection)
  } catch (error) {
    connection.close()
    throw error
  }
}

/** Asks the rewound primary for the last common position, and reports the local entries after this position. */
const stopAhead = async (
  connection: PrimaryConnection,
  { store, hooks, times }: FollowerOptions,
  recent: RecentFrames,
  signal: AbortSignal,
): Promise<void> => {
  const position = store.remotePosition
  if (!position) return
  const positions = recent.positions().map((one) => ({ ...one, epoch: position.epoch }))
  const request = { who: toPeerMessage(hooks.who()), positions }
  const reply = await connection.call('commonPosition', request, { timeoutMs: times.connectTimeoutMs, signal })
  const isKnown = reply.common_index > 0
  const forkIndex = isKnown ? reply.common_index : Math.min(reply.last_index, position.index)
  const { frames, isComplete } = recent.after(forkIndex)
  const surplus = {
    epoch: position.epoch,
    forkIndex,
    lastIndex: position.index,
    isForkSure: isKnown,
    frames,
    isComplete,
  }
  await hooks.stopAhead(surplus, reply.last_index)
}

const openStream = async (stream: FollowerStream, options: FollowerOptions, events: LinkEvents) => {
  const { kind, store, hooks, clock, times } = options
  const position = store.remotePosition
  const timer = clock.setTimer(times.connectTimeoutMs, () =>
    stream.end(
      new LogicalError('unavailable', `the primary did not accept the stream within ${times.connectTimeoutMs} ms`),
    ),
  )
  try {
    await stream.send({
      open: {
        who: toPeerMessage(hooks.who()),
        position: position ?? null,
        filter: kind === 'performance' ? hooks.filterFingerprint() : '',
      },
    })
    const [first, ...rest] = await stream.receive()
    const { primary, lastIndex } = parseAccepted(first)
    const objection = hooks.findObjection(primary)
    if (objection !== undefined) throw refusalError('epoch', objection)
    events.onAccepted(primary, lastIndex)
    return { primary, rest, position }
  } finally {
    timer.cancel()
  }
}

const parseAccepted = (first: ReceivedDown | undefined): { primary: Model.PeerIdentity; lastIndex: number } => {
  if (first?.message !== 'accepted' || !first.accepted) {
    throw new LogicalError('unavailable', 'the primary did not accept the stream: its first message is of another type')
  }
  return { primary: parsePeer(first.accepted.who), lastIndex: first.accepted.last_index }
}

/**
 * Forwards a request over the connection. If the primary may have executed the request, but its response is lost,
 * rejects with an error that contains `outcome unknown`.
 */
export const forwardOver = async (
  connection: PrimaryConnection,
  { hooks, times }: Pick<FollowerOptions, 'hooks' | 'times'>,
  payload: Buffer,
  signal: AbortSignal | undefined,
): Promise<ForwardReply> => {
  const request = { who: toPeerMessage(hooks.who()), payload }
  const limits = { timeoutMs: times.forwardingTimeoutMs, ...(signal ? { signal } : {}) }
  try {
    const reply = await connection.call('forward', request, limits)
    const primary = parsePeer(reply.who)
    // A newer primary may have replaced this primary before the response arrived.
    const objection = hooks.findObjection(primary)
    if (objection !== undefined) throw refusalError('epoch', `${objection}: outcome unknown`)
    return { payload: reply.payload, epochs: primary.epochs }
  } catch (error) {
    if (refusalCodeOf(error) !== undefined) throw error
    throw new LogicalError('unavailable', `${PRIMARY_UNREACHABLE_TEXT}: outcome unknown`, { cause: error })
  }
}
