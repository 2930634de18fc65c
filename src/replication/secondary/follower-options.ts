import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Recorder } from '../../base/meter.js'
import type { Random } from '../../base/random.js'
import type { ReplicableStore } from '../../storage/keys/replicable.js'
import type { ClusterTransport } from '../rpc/transport.js'
import type { Kind, PrimaryCredentials, ReplicationTimes, SecondaryHooks } from '../model/types.js'

export interface FollowerOptions {
  readonly kind: Kind
  readonly store: ReplicableStore
  readonly hooks: SecondaryHooks
  readonly credentials: PrimaryCredentials
  /** Addresses of the primary, best first, as `https://host:port` or `host:port`. */
  readonly addresses: readonly string[]
  /** Tried if none of `addresses` responds. */
  readonly formerAddresses?: readonly string[] | undefined
  readonly times: ReplicationTimes
  /** Size of one import of a resync, in bytes. */
  readonly importBytes?: number | undefined
  readonly clock: Clock
  readonly random: Random
  readonly transport: ClusterTransport
  readonly log: Log
  /** Counts traffic on the link. */
  readonly recorder?: Recorder | undefined
}
