import type { Engine } from '../../storage/engine/engine.js'
import type { SharedLog } from '../../storage/shared-log/shared-log.js'
import type { SealManager } from '../../core/seal/seal-manager.js'
import type { FreshStart, ReplicationHost } from '../../replication/host/host.js'
import type { GenerationSlot } from '../../core/seal/generate-root.js'
import type { Barrier, EncryptionCount } from '../../storage/barrier/barrier.js'
import type { Store } from '../../storage/store/store.js'
import type { FollowerStore } from './follower-store.js'
import type { Passwords } from '../../auth/userpass/password-worker.js'
import type { ClusterStatus } from '../../core/status/cluster-status.js'
import type { Meter } from '../../core/status/metrics.js'
import type { PathRuleTable } from '../../logical/path-rules.js'
import type { Holds } from '../../replication/host/holds.js'
import type { SealJoin } from '../../core/seal/seal-records.js'
import type { RaftJoining, RaftNodes } from '../../core/system/raft-join-paths.js'
import type { LabState } from '../faults/disk-faults.js'
import type { ClusterPort, ClusterTransport } from '../../replication/rpc/transport.js'
import type { Facilities } from '../../base/facilities.js'
import type { PathSpec } from '../../logical/backend.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import type { ServerConfig } from '../config/config.js'
import type { CertificateKeys } from '../../crypto/certificates.js'
import type { JwtKeys } from '../../crypto/jwt.js'
import type { MakePrivateKey } from '../../crypto/key-pairs.js'
import { uuid } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import { readJson, type ReadStorage } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'
import { invalid } from '../../logical/errors.js'
import { kindName } from '../../replication/model/guard-texts.js'
import type { License } from '../../replication/model/machine.js'
import { recordKey } from '../../replication/model/state.js'
import type { Kind } from '../../replication/model/types.js'

/** The membership of a runtime in a multi-node cluster. A single-node cluster has none. */
export interface NodeMembership {
  /** The log that all nodes follow and the leader writes. */
  readonly sharedLog: SharedLog
  /** False once another node may have written data that this node lacks. */
  readonly isLeading: boolean
  readonly presence: {
    /** The known cluster addresses of the other nodes. */
    readonly otherAddresses: readonly string[]
    /** Calls `listener` when `otherAddresses` changes. Returns the unsubscribe function. */
    onOthers(listener: () => void): () => void
  }
  /** True if this node may serve clients: it is active, and its lease guarantees that no other node is active. */
  readonly isServing: boolean
  /** True from the election until the cluster is open, and during a role change: clients wait. */
  readonly isTakingOver: boolean
  /** Reports that the barrier was unsealed: the node takes part in elections from now on. */
  unsealed(): void
  /**
   * Reports that the barrier is about to be sealed. Resolves when the node is no longer leader and its new runtime follows
   * the log.
   */
  sealed(): Promise<void>
  /** Reports that the runtime is about to be rebuilt for a role change. A leader keeps its leadership. */
  changing(): void
  /** Reports that the new runtime is in place; it follows the log. */
  changed(): void
  /**
   * Replaces the cluster's data with the content of the engine. Rejects with LogicalError 503 if this node is no longer
   * leader, or if the outcome is unknown.
   */
  publish(fresh: Engine): Promise<void>
  /** Lets another node become active. Throws LogicalError 503 if this node is not active. */
  stepDown(): void
  /** Runs `work` as leader: it can write while the cluster is closed. Throws LogicalError 503 if another node leads. */
  whileLeading<T>(work: () => Promise<T>): Promise<T>
}

/** Data that replaces the current data. */
export interface NewData {
  /** Returns the root key of the new data, given the root key of the old data; undefined if this server does not have it. */
  readonly rootKeyAfter: (before: Buffer | undefined) => Buffer | undefined
  readonly prepare: (fresh: Engine, old: Engine) => Promise<void>
  /** The replication set that the cluster joins. Status reads return it once the decision is durable. */
  readonly joining?: FreshStart['joining']
  /** Returns whether the auto-unseal seal, if any, may unseal the new data. Called after the change. */
  readonly opensItself?: () => boolean
}

/** How a node gives up leadership. */
export interface StepDownOptions {
  /** True if requests in progress complete first. */
  readonly isDrained: boolean
  /** Called when the store is closed. */
  readonly release: () => Promise<void>
}

/** Replaces the runtime, on behalf of parts that run inside it. */
export interface RuntimeChanges {
  /** The current runtime; undefined while it is being replaced. */
  readonly runtime: { readonly seal: Pick<SealManager, 'seal'> } | undefined
  /** Resolves when no change is in progress. */
  settled(): Promise<void>
  /** Unseals with the auto-unseal seal, if any: now, or as soon as the seal is reachable. */
  autoUnseal(): Promise<void>
  /** Rebuilds the runtime from its records. Returns immediately. */
  restart(reason: string): void
  /**
   * Makes new client writes wait. Resolves when the writes in progress have been answered, or after a timeout. Call
   * `resumeWrites` afterwards, unless a restart follows.
   */
  pauseWrites(): Promise<void>
  resumeWrites(): void
  /**
   * Creates a new generation of the data with a new runtime. Resolves when the decision is durable. If it rejects, nothing
   * has changed, unless the error is OutcomeUnknown. Rejects during another change, because that change would invalidate
   * the data on which the decision is based.
   */
  replaceData(reason: string, next: NewData): Promise<void>
}

/** The parts of a runtime that exist before its cluster is open, and on which the open cluster is built. */
export interface RuntimeParts {
  readonly store: Store
  readonly barrier: Barrier
  readonly seal: SealManager
  readonly identity: OwnIdentity
  readonly generationSlot: GenerationSlot
  /** On a node of a multi-node cluster: follows the shared log. */
  readonly following: FollowerStore | undefined
}

interface OtherNodes {
  readonly sealJoin: SealJoin | undefined
  /** True while this node has no access to its data, because too few other nodes are present. */
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
  readonly overrides: SimulationOverrides | undefined
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

/** The objects outside a runtime that it uses. */
export interface RuntimeSurroundings extends Facilities {
  readonly config: ServerConfig
  readonly source: EngineSource
  readonly shell: ShellView
  readonly changes: RuntimeChanges
  /** The membership in a multi-node cluster; undefined for a single-node cluster. */
  readonly membership: NodeMembership | undefined
}

export interface OpenClusterOptions extends RuntimeSurroundings {
  readonly runtime: RuntimeParts
  /** True if opened on a standby, read-only over a copy that follows the log. */
  readonly isStandby: boolean
  readonly statePaths: readonly PathSpec[]
}

/**
 * Replacements for sockets, and for cryptography that uses threads or its own random numbers, so that a server can be
 * simulated.
 */
export interface SimulationOverrides {
  readonly transport: ClusterTransport
  readonly fetchWrapped: ReplicationHost['fetchWrapped']
  readonly certificateKeys: CertificateKeys
  readonly jwtKeys: JwtKeys
  readonly passwords: Passwords
  readonly makePrivateKey: MakePrivateKey
}

export interface OwnIdentity {
  readonly clusterId: string
  readonly clusterName: string
}

export const findIdentity = (store: ReadStorage): OwnIdentity | undefined =>
  readJson<OwnIdentity>(store, KEYS.clusterIdentity)

/**
 * Returns the ID and name of this cluster. Creates them on first use; they survive a wipe. A configured name overrides the
 * generated name.
 */
export const ensureIdentity = async (store: Store, configuredName: string, random: Random): Promise<OwnIdentity> => {
  const known = findIdentity(store)
  const clusterName = configuredName || known?.clusterName || `vault-cluster-${random.bytes(4).toString('hex')}`
  if (known?.clusterName === clusterName) return known
  const identity = { clusterId: known?.clusterId ?? uuid(random), clusterName }
  await store.write((tx) => tx.put(KEYS.clusterIdentity, Buffer.from(JSON.stringify(identity))))
  return identity
}

const NOT_INCLUDED: Readonly<Record<License, readonly Kind[]>> = {
  enterprise: [],
  plus: ['dr'],
  none: ['dr', 'performance'],
}

/**
 * Throws if the license does not include a role of the cluster. Checks only whether the record of a role exists, since its
 * content is encrypted and the server may be sealed.
 */
export const requireLicensedRoles = (license: License, store: { get(key: string): Buffer | undefined }): void => {
  const kind = NOT_INCLUDED[license].find((candidate) => store.get(recordKey(candidate)) !== undefined)
  if (!kind) return
  throw invalid(
    `the license "${license}" does not include ${kindName(kind)} replication, but this cluster has a role in it: ` +
      'start the server with the previous license, disable replication, and then change the license',
  )
}
