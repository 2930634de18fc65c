import type { Clock } from '../../base/clock.js'
import { messageOf } from '../../base/printable.js'
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
  /** Returns the reason to reject a primary that responded, or undefined if it is accepted. */
  readonly findObjection: (primary: PeerIdentity) => string | undefined
}

export interface Pong {
  /** The address that responded. It may be that of the active node, if a standby named the active node. */
  readonly address: string
  readonly primary: PeerIdentity
}

/**
 * Maximum total time, as a multiple of the ping timeout. The calls run under the role lock, which a long list of
 * unresponsive addresses must not block.
 */
const TIMEOUTS_MAX = 5

/**
 * Resolves to the first address at which a primary of the set accepts the credentials. Calls the addresses one after
 * another, each once and for at most `pingTimeoutMs`. Skips the remaining addresses after five times `pingTimeoutMs`.
 * Rejects with one text that lists the error of each address.
 */
export const pingPrimaries = async (addresses: readonly string[], options: PingOptions): Promise<Pong> => {
  const { clock, times } = options
  const failures: string[] = []
  const endMs = clock.monotonic() + TIMEOUTS_MAX * times.pingTimeoutMs
  const distinct = [...new Set(addresses)]
  for (const [index, address] of distinct.entries()) {
    options.signal.throwIfAborted()
    if (clock.monotonic() >= endMs) {
      failures.push(`${distinct.length - index} more addresses were not tried, because the timeout was reached`)
      break
    }
    try {
      return await atActiveNode(address, async (at) => ({ address: at, primary: await ping(at, options) }))
    } catch (error) {
      failures.push(`${address}: ${messageOf(error)}`)
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
