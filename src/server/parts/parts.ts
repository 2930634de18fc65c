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

/** The membership of this server in a multi-node cluster. A single-node cluster has none. */
export interface NodeMembership {
  /** The log that the leader writes and all other nodes follow. */
  readonly sharedLog: SharedLog
  /** False if another node may have written data that this node lacks. */
  readonly isLeading: boolean
  readonly presence: {
    /** The known cluster addresses of the other nodes. */
    readonly otherAddresses: readonly string[]
    /** Calls `listener` when `otherAddresses` changes. Returns the unsubscribe function. */
    onOthers(listener: () => void): () => void
  }
  /** True if this node may serve clients: it is active, and its lease guarantees that no other node is active. */
  readonly isServing: boolean
  /** True from the election until the cluster is open, and during a role change. Clients then wait. */
  readonly isTakingOver: boolean
  /** Reports that the barrier was unsealed. From then on, the node takes part in elections. */
  unsealed(): void
  /**
   * Reports that the barrier is about to be sealed. Resolves when the node is no longer the leader and its new runtime
   * follows the log.
   */
  sealed(): Promise<void>
  /** Reports that the runtime is about to be rebuilt for a role change. A leader keeps its leadership. */
  changing(): void
  /** Reports that the new runtime is running and follows the log. */
  changed(): void
  /**
   * Replaces the data of the cluster with the content of the engine. Rejects with `LogicalError` `unavailable` if this
   * node is no longer the leader, or if the outcome is unknown.
   */
  publish(fresh: Engine): Promise<void>
  /**
   * Makes this node step down, so that another node becomes active. Throws `LogicalError` `unavailable` if this node is
   * not active.
   */
  stepDown(): void
  /**
   * Runs `work` while this node is the leader, so that it can write although the cluster is closed. Rejects with
   * `LogicalError` `unavailable` if another node is the leader.
   */
  whileLeading<T>(work: () => Promise<T>): Promise<T>
}

/** New data that replaces all current data. */
export interface NewData {
  /**
   * Returns the root key of the new data, or undefined if this server does not have it. Receives the root key of the
   * old data.
   */
  readonly rootKeyAfter: (before: Buffer | undefined) => Buffer | undefined
  readonly prepare: (fresh: Engine, old: Engine) => Promise<void>
  /** The replication set that the cluster joins. Status responses show it as soon as the decision is durable. */
  readonly joining?: FreshStart['joining']
  /** Returns true if the auto-unseal seal, if any, may unseal the new data. Called after the change. */
  readonly opensItself?: () => boolean
}

/** How a node steps down. */
export interface StepDownOptions {
  /** True if the node first completes requests in progress. */
  readonly isDrained: boolean
  /** Called after the store is closed. Gives up the leadership. */
  readonly release: () => Promise<void>
}

/** Functions that replace the runtime, for objects that run inside it. */
export interface RuntimeChanges {
  /** The current runtime; undefined while it is being replaced. */
  readonly runtime: { readonly seal: Pick<SealManager, 'seal'> } | undefined
  /** Resolves when no change is in progress. */
  settled(): Promise<void>
  /** Unseals with the auto-unseal seal, if any, now or as soon as the seal is reachable. */
  autoUnseal(): Promise<void>
  /** Rebuilds the runtime from its stored records. Returns immediately. */
  restart(reason: string): void
  /**
   * Pauses new client writes. Resolves when the writes in progress are complete, or after a timeout. The caller must
   * call `resumeWrites` afterwards, unless a restart follows.
   */
  pauseWrites(): Promise<void>
  resumeWrites(): void
  /**
   * Creates a new generation of the data, and a new runtime on it. Resolves when the decision is durable. If the call
   * rejects, nothing has changed, unless the error is `OutcomeUnknown`. Rejects during another change, because that
   * change would invalidate the data on which this decision is based.
   */
  replaceData(reason: string, next: NewData): Promise<void>
}

/** The objects of a runtime that exist before its cluster is open, and on which the open cluster is built. */
export interface RuntimeParts {
  readonly store: Store
  readonly barrier: Barrier
  readonly seal: SealManager
  readonly identity: OwnIdentity
  readonly generationSlot: GenerationSlot
  /** Set only on a node of a multi-node cluster. Follows the shared log. */
  readonly following: FollowerStore | undefined
}

interface OtherNodes {
  readonly sealJoin: SealJoin | undefined
  /** True while this node cannot read its data, because too few other nodes are running. */
  readonly isAwaitingOthers: boolean
}

/** The objects of the process that a runtime uses and that outlive it. */
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
  /** Aborts when the server begins to stop. */
  readonly stopping: { readonly signal: AbortSignal }
  /** The root token that `-dev` printed. It may have been revoked since. */
  readonly devSecrets: { readonly rootToken: string } | undefined
  /** The other nodes of a server with storage `raft`; undefined for other storage. */
  readonly peers: (RaftNodes & RaftJoining & OtherNodes) | undefined
  readonly inFlight: () => ReadonlyMap<
    string,
    { startTimeMs: number; remoteAddress: string; path: string; method: string }
  >
}

/** The objects outside of a runtime that the runtime uses. */
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
  /** True if the cluster is opened on a standby: read-only, over a copy that follows the log. */
  readonly isStandby: boolean
  readonly statePaths: readonly PathSpec[]
}

/** Replacements for sockets, threads and random numbers, so that servers can run in a simulation. */
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
 * Resolves to the ID and the name of this cluster. Creates them on first use. They survive a wipe. A configured name
 * overrides the generated name.
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
 * Throws `LogicalError` if the cluster has a replication role that the license does not include. Checks only whether
 * the record of the role exists, because its content is encrypted and the server may be sealed.
 */
export const requireLicensedRoles = (license: License, store: { get(key: string): Buffer | undefined }): void => {
  const kind = NOT_INCLUDED[license].find((candidate) => store.get(recordKey(candidate)) !== undefined)
  if (!kind) return
  throw invalid(
    `the license "${license}" does not include ${kindName(kind)} replication, but this cluster has a role in it: ` +
      'start the server with the previous license, disable replication, and then change the license',
  )
}
