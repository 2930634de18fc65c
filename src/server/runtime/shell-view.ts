import type { Passwords } from '../../auth/userpass/password-worker.js'
import type { ClusterStatus } from '../../core/status/cluster-status.js'
import type { Meter } from '../../core/status/metrics.js'
import type { PathRuleTable } from '../../logical/path-rules.js'
import type { Holds } from '../../replication/holds.js'
import type { FreshStart } from '../../replication/host.js'
import type { ClusterListener } from '../../replication/rpc/cluster-listener.js'
import type { EncryptionCount } from '../../storage/barrier/encryption-count.js'
import type { Restoration } from '../data/snapshots.js'

/** The process around a runtime, as far as the runtime may ask it for something. */
export interface ShellView {
  readonly status: ClusterStatus
  readonly holds: Holds
  readonly meter: Meter
  readonly encryptions: EncryptionCount
  readonly clusterPort: ClusterListener
  readonly passwords: Passwords
  /** The rules of the paths below `sys/`. */
  readonly systemRules: PathRuleTable
  /** The root token of `-dev` as it was printed; whether it is still good is not known here. */
  readonly devRootToken: string | undefined
  /** The runtime is to be built anew from its records. Returns at once. */
  restart(reason: string): void
  /** Makes new writes of clients wait. Resolves when those under way have been answered, or have taken too long. */
  holdWrites(): Promise<void>
  releaseWrites(): void
  /** A new generation with these keys and records, then a restart. Resolves when the decision is durable. */
  wipeAndRestart(next: FreshStart): Promise<void>
  /** A new generation filled with a snapshot, then a restart. Resolves when the decision is durable. */
  restoreAndRestart(restoration: Restoration): Promise<void>
  readonly inFlight: () => ReadonlyMap<
    string,
    { startTimeMs: number; remoteAddress: string; path: string; method: string }
  >
}
