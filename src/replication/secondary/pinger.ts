import type { Clock } from '../../base/clock.js'
import { LogicalError } from '../../logical/errors.js'
import type { ClusterTransport, ConnectOptions } from '../rpc/transport.js'
import { atActiveNode } from '../rpc/active-node.js'
import { parsePeer, toPeerMessage } from '../rpc/peer-identity.js'
import type { ReplicationTimes, PeerIdentity } from '../model/types.js'

interface PingOptions extends Omit<ConnectOptions, 'times'> {
  readonly transport: ClusterTransport
  readonly clock: Clock
  readonly times: ReplicationTimes
  readonly who: PeerIdentity
  /** Returns a text to refuse the primary that responded. */
  readonly findObjection: (primary: PeerIdentity) => string | undefined
}

export interface Pong {
  /** The address that responded: the given one, or that of the active node that the given node named. */
  readonly address: string
  readonly primary: PeerIdentity
}

/**
 * Maximum number of timeouts. The pinger runs under the role lock, so a long list of unresponsive addresses must not
 * block it.
 */
const TIMEOUTS_MAX = 5

/**
 * Returns the first address that responds for the set and accepts the credentials. Each address is called once, in
 * order, for at most `pingTimeoutMs`; after five times that long, the remaining addresses are skipped. Rejects with one
 * text that lists the error of each address.
 */
export const pingPrimaries = async (addresses: readonly string[], options: PingOptions): Promise<Pong> => {
  const { clock, times } = options
  const failures: string[] = []
  const endMs = clock.monotonic() + TIMEOUTS_MAX * times.pingTimeoutMs
  const distinct = [...new Set(addresses)]
  for (const [place, address] of distinct.entries()) {
    options.signal.throwIfAborted()
    if (clock.monotonic() >= endMs) {
      failures.push(`${distinct.length - place} more were not tried, because the time limit was reached`)
      break
    }
    try {
      return await atActiveNode(address, async (at) => ({ address: at, primary: await ping(at, options) }))
    } catch (error) {
      failures.push(`${address}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  options.signal.throwIfAborted()
  throw new LogicalError('unavailable', failures.join('; '))
}

const ping = async (address: string, options: PingOptions): Promise<PeerIdentity> => {
  const timeoutMs = options.times.pingTimeoutMs
  const startMs = options.clock.monotonic()
  const times = { ...options.times, connectTimeoutMs: timeoutMs }
  const connection = await options.transport.connect(address, { ...options, times })
  try {
    const restMs = Math.max(timeoutMs - (options.clock.monotonic() - startMs), 1)
    const { who } = await connection.call(
      'ping',
      { who: toPeerMessage(options.who) },
      { timeoutMs: restMs, signal: options.signal },
    )
    const primary = parsePeer(who)
    const objection = options.findObjection(primary)
    if (objection !== undefined) throw new LogicalError('unavailable', objection)
    return primary
  } finally {
    connection.close()
  }
}
