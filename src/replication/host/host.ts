import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Recorder } from '../../base/meter.js'
import type { Random } from '../../base/random.js'
import type { CertificateKeys } from '../../crypto/certificates.js'
import type { JsonObject } from '../../logical/json.js'
import type { Request, Response, WrapInfo } from '../../logical/request.js'
import type { Storage, Transaction } from '../../logical/storage.js'
import type { ReplicableStore, MaintainedTrees } from '../../storage/keys/replicable.js'
import type { MountFact, NamespaceFact } from '../model/compile-filter.js'
import type { MountChange } from '../model/filter-record.js'
import type { License } from '../model/machine.js'
import type { GenerationAttempt } from '../model/operation-token.js'
import type { Kind, ReplicationTimes } from '../model/types.js'

/** The facilities that are injected into a process, and those reached through it. */
export interface Surroundings {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Counts what goes over the links. */
  readonly recorder?: Recorder | undefined
  /**
   * `PUT {address}/v1/sys/wrapping/{step}` with the whole token: a look-up, which spends nothing, or the unwrapping.
   * Resolves to status and body text; rejects with a LogicalError that says what was tried and what to check. `caPems`
   * empty: the system's roots.
   */
  fetchWrapped(call: WrappedCall): Promise<{ status: number; body: string }>
  /** Undefined: those of the system. */
  readonly certificateKeys?: CertificateKeys | undefined
}

interface OwnCluster {
  readonly identity: ClusterIdentity
  readonly settings: ReplicationSettings
  readonly license: License
  /** False once another node of this cluster may have written what is not known here. */
  isLeading(): boolean
}

interface StoredData {
  /** The barrier with whole keys (`core/cluster/...`). On a DR secondary only ignored keys can be written through it. */
  readonly storage: Storage
  readonly store: ReplicableStore
  readonly trees: MaintainedTrees

  /**
   * Commits a role: one durable batch. The one way past the rules that forbid writing local keys on a DR secondary and
   * replicated ones on a secondary, since it decides what the cluster is from now on.
   */
  commit(write: (tx: Transaction) => void): Promise<void>

  /** Root key, and the stored records that a wiped cluster must have before it can read a copy of our data. */
  exportKeyMaterial(): KeyMaterial
}

/** The ways in which a change of role acts on the runtime that it is made in. */
interface RuntimeControl {
  /**
   * The durable decision to drop everything: a new generation of the directory with the key material and `records`
   * (whole key, plain value: encrypted here with the new keyring), then the runtime starts again from it. The own id and
   * name of the cluster are kept. Resolves when the decision is durable, before the restart; from that moment status reads
   * show the cluster bootstrapping.
   */
  wipeAndRestart(next: FreshStart): Promise<void>

  /**
   * Refuses whatever would still enter the log for secondaries of this kind, whoever writes it. Resolves when all that was
   * let in before is in the log. The result lifts it; a restart does, too.
   */
  fenceWrites(kind: Kind): Promise<() => void>

  /** Asks for the runtime to be torn down and started from its records, once the answer in progress is out. */
  restart(reason: string): void

  /**
   * Moves what is stored to a new generation of the directory, without the mark that calls for it, and destroys the old one
   * with all that was ever deleted in it, while the store goes on working. Returns at once.
   */
  destroyDeleted(): void
}

/** The mount tables and namespaces as they are now, for path filters. */
interface MountFacts {
  mounts(): readonly MountFact[]
  namespaces(): readonly NamespaceFact[]
  /** From now on `follower` takes part in the transactions that move or remove a mount or a namespace. */
  followMounts(follower: MountFollower): void
}

/**
 * Everything that replication stands on; all of it is there before replication. The composition root implements it over engine, barrier,
 * mount tables and listeners; replication never reaches past it.
 */
export type ReplicationHost = Surroundings & OwnCluster & StoredData & RuntimeControl & MountFacts

/** The part of core that a primary and the end of a first copy need. Core stands on replication: it is given at the start. */
export interface RoleServices {
  /** Runs what a performance secondary forwarded through routing and backends; throws LogicalError like a backend. */
  executeForwarded(request: Request): Promise<Response | undefined>

  /** On a development server only. */
  readonly dev: DevServer | undefined
}

/** The part of core that the paths of replication need. */
export interface PathServices {
  /** Wraps an activation bundle: a wrapping token in JWT form with `addr`, stored like any other wrapped answer. */
  wrapActivation(payload: JsonObject, ttlSeconds: number, creationPath: string): Promise<WrapInfo>

  /** On a DR secondary: throws the pipeline's 403 unless the request's own token may do what it asks for. */
  authorize(request: Request): void
  /** True for a live batch token of the root namespace all whose bounds allow exactly this request. */
  isBatchTokenAllowed(token: string, request: Request): boolean

  /** The key-share ceremony for an operation token; it shares its one attempt with generate-root. */
  readonly generation: GenerationAttempt

  /** `data` of sys/license/status. */
  licenseStatus(): JsonObject
}

/** The function that each method returns is called when the transaction is stored, or has failed. */
export interface MountFollower {
  mountChanged(tx: Transaction, change: MountChange): () => void
  namespaceGone(tx: Transaction, gone: NamespaceFact): () => void
}

interface ClusterIdentity {
  /** `cluster_id` of sys/health: this cluster, not its replication set. */
  readonly clusterId: string
  readonly clusterName: string
  /** The address clients use, with scheme; empty when not configured. */
  readonly apiAddress: string
  /** The advertised address of the cluster port as `https://host:port`; never what it is bound to. */
  readonly clusterAddress: string
  /** Those of all nodes of this cluster, this one first. */
  readonly clusterAddresses: readonly string[]
  readonly reportedVersion: string
}

export interface ReplicationSettings {
  readonly times: ReplicationTimes
  readonly bestEffortWalWaitMs: number
  /** How long a demotion waits for its secondaries. */
  readonly demoteDrainTimeoutMs: number
  readonly fenceClientWrites: boolean
  readonly allowOlderSecondary: boolean
  readonly isDevelopment: boolean
  /** The cluster has several nodes, or may have. */
  readonly hasSeveralNodes: boolean
}

export interface PlainRecord {
  readonly key: string
  readonly value: Buffer
}

/** Access to the root token of a development server: a primary hands its own to a secondary that asks. */
export interface DevServer {
  /** The root token that it was started with; undefined once that is good no more. */
  findRootToken(): string | undefined
  /** Makes a root token with this id, unless there is one. */
  plantRootToken(id: string): Promise<void>
}

/** `records` are stored bytes: the keyring, encrypted with the root key, and the seal configuration. */
export interface KeyMaterial {
  readonly rootKey: Buffer
  readonly records: readonly PlainRecord[]
}

/** The keys and records that a wiped cluster begins with. */
export interface FreshStart {
  readonly keyMaterial: KeyMaterial
  readonly records: readonly PlainRecord[]
  /** The set it joins, for status reads until the next runtime can answer them. */
  readonly joining: { readonly kind: Kind; readonly setId: string }
}

export interface WrappedCall {
  readonly step: 'lookup' | 'unwrap'
  /** `https://host:port`, or http. */
  readonly address: string
  readonly token: string
  readonly caPems: readonly string[]
  readonly clientCertPem: string
  readonly clientKeyPem: string
  readonly signal: AbortSignal
}
