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
  /** Where the primary may be, best first, as `https://host:port` or `host:port`. */
  readonly addresses: readonly string[]
  /** Tried when none of those answers. */
  readonly formerAddresses?: readonly string[] | undefined
  readonly times: ReplicationTimes
  /** How much a resync writes at once. */
  readonly importBytes?: number | undefined
  readonly clock: Clock
  readonly random: Random
  readonly transport: ClusterTransport
  readonly log: Log
  /** Counts what goes over the link. */
  readonly recorder?: Recorder | undefined
}
