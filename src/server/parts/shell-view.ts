import type { Passwords } from '../../auth/userpass/password-worker.js'
import type { ClusterStatus } from '../../core/status/cluster-status.js'
import type { Meter } from '../../core/status/metrics.js'
import type { PathRuleTable } from '../../logical/path-rules.js'
import type { Holds } from '../../replication/host/holds.js'
import type { SealJoin } from '../../core/seal/seal-join.js'
import type { RaftJoining, RaftNodes } from '../../core/system/raft-join-paths.js'
import type { LabState } from '../faults/lab-state.js'
import type { StandIns } from '../rules/stand-ins.js'
import type { ClusterPort, ClusterTransport } from '../../replication/rpc/transport.js'
import type { EncryptionCount } from '../../storage/barrier/encryption-count.js'

interface OtherNodes {
  readonly sealJoin: SealJoin | undefined
  /** True while too few other nodes are present for this one to have its data. */
  readonly isAwaitingOthers: boolean
}

/** The parts of the process that outlive a runtime and that a runtime needs. */
export interface ShellView {
  readonly status: ClusterStatus
  readonly holds: Holds
  readonly meter: Meter
  readonly labState: Pick<LabState, 'activeFaults'>
  readonly encryptions: EncryptionCount
  readonly clusterPort: ClusterPort
  readonly transport: ClusterTransport
  readonly passwords: Passwords
  readonly standIns: StandIns | undefined
  /** The rules of the paths below `sys/`. */
  readonly systemRules: PathRuleTable
  /** The root token of `-dev` as printed. It may have been revoked since. */
  readonly devSecrets: { readonly rootToken: string } | undefined
  /** The other nodes of a server with storage "raft"; undefined for other storage. */
  readonly peers: (RaftNodes & RaftJoining & OtherNodes) | undefined
  readonly inFlight: () => ReadonlyMap<
    string,
    { startTimeMs: number; remoteAddress: string; path: string; method: string }
  >
}
