import { messageOf } from '../../base/printable.js'
import type { Clock } from '../../base/clock.js'
import { limitSignal } from '../../base/linked-signal.js'
import { LogicalError } from '../../logical/errors.js'
import { atActiveNode } from '../rpc/active-node.js'
import { withoutScheme } from '../rpc/addresses.js'
import type { ClusterTransport, ConnectOptions, PrimaryConnection } from '../rpc/transport.js'
import { refusalCodeOf } from '../rpc/refusal.js'
import { parsePeer, toPeerMessage } from '../rpc/peer-identity.js'
import type { BootstrapPackage, ReplicationTimes, PeerIdentity } from '../model/types.js'

interface BootstrapOptions extends Omit<ConnectOptions, 'times'> {
  readonly transport: ClusterTransport
  readonly clock: Clock
  /** Addresses of the primary, best first. */
  readonly addresses: readonly string[]
  readonly times: ReplicationTimes
  readonly who: PeerIdentity
  readonly wantsDevRoot?: boolean | undefined
}

interface Bootstrapped {
  readonly package: BootstrapPackage
  readonly primary: PeerIdentity
  /** The address (`host:port`) that responded. */
  readonly address: string
}

/**
 * Registers this cluster with a primary. Uses the credentials of an activation token, and fetches the key material for
 * the first copy. Changes no data of this cluster. Rejects within `bootstrapTimeoutMs` with Vault's error text. If the
 * primary refused the call, the error contains its reason.
 */
export const fetchBootstrap = async (options: BootstrapOptions): Promise<Bootstrapped> => {
  const { clock, times, signal } = options
  const late = new LogicalError('unavailable', `the bootstrap took more than ${times.bootstrapTimeoutMs} ms`)
  using limit = limitSignal(clock, times.bootstrapTimeoutMs, signal, late)
  try {
    return await fetchOnce(options, limit.signal)
  } catch (error) {
    const data = error instanceof LogicalError && error.data ? { data: error.data } : {}
    throw new LogicalError('unavailable', `error fetching secondary bootstrap package: ${messageOf(error)}`, {
      cause: error,
      ...data,
    })
  }
}

/** Added to the error if the response is lost: the primary may already have marked the secondary ID as used. */
const MAYBE_TAKEN =
  '; the primary may have registered this cluster: revoke the secondary ID there before you create a new token'

const isAnswered = (error: unknown): boolean => ![undefined, 'failed'].includes(refusalCodeOf(error))

const fetchOnce = async (options: BootstrapOptions, signal: AbortSignal): Promise<Bootstrapped> => {
  signal.throwIfAborted()
  const first = await connectFirst({ ...options, signal })
  return atActiveNode(first.address, async (address) =>
    bootstrapOver(
      address === first.address ? first : await options.transport.connect(address, { ...options, signal }),
      {
        ...options,
        signal,
      },
    ),
  )
}

const bootstrapOver = async (
  connection: PrimaryConnection,
  { signal, ...options }: BootstrapOptions,
): Promise<Bootstrapped> => {
  try {
    const request = { who: toPeerMessage(options.who), wants_dev_root: options.wantsDevRoot ?? false }
    const reply = await connection.call('bootstrap', request, { signal }).catch((error: unknown) => {
      throw isAnswered(error)
        ? error
        : new LogicalError('unavailable', messageOf(error) + MAYBE_TAKEN, { cause: error })
    })
    return {
      package: { rootKey: reply.root_key, records: reply.records, extra: reply.extra },
      primary: parsePeer(reply.who),
      address: connection.address,
    }
  } finally {
    connection.close()
  }
}

/** Connects to the first address that responds. Rejects with one text that lists the error of each address. */
const connectFirst = async (options: BootstrapOptions): Promise<PrimaryConnection> => {
  const { transport, addresses, signal } = options
  const failures: string[] = []
  for (const address of addresses) {
    signal.throwIfAborted()
    try {
      return await transport.connect(address, options)
    } catch (error) {
      failures.push(`${withoutScheme(address)}: ${messageOf(error)}`)
    }
  }
  signal.throwIfAborted()
  throw new LogicalError(
    'unavailable',
    failures.length === 0 ? 'no address of a primary is known' : failures.join('; '),
  )
}
