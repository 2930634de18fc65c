import type { Facilities } from '../../base/facilities.js'
import type { Recorder } from '../../base/meter.js'
import type { CertificateKeys } from '../../crypto/certificates.js'
import type { JsonObject } from '../../logical/json.js'
import type { Request, Response, WrapInfo } from '../../logical/request.js'
import type { Storage, Transaction } from '../../logical/storage.js'
import type { Entry } from '../../storage/engine/engine.js'
import type { ReplicableStore } from '../../storage/keys/replicable.js'
import type { MountFact, NamespaceFact } from '../model/compile-filter.js'
import type { MountChange } from '../model/filter-record.js'
import type { License } from '../model/machine.js'
import type { GenerationAttempt } from '../model/operation-token.js'
import type { Kind, ReplicationTimes } from '../model/types.js'

/** The injected clock, random source, log and network calls of a process. */
export interface Surroundings extends Pick<Facilities, 'clock' | 'random' | 'log'> {
  readonly recorder?: Recorder | undefined
  /**
   * Calls `PUT {address}/v1/sys/wrapping/{step}` with the whole token. A look-up does not consume the token, an unwrap
   * does. Resolves to status and body text. Rejects with a `LogicalError` that describes the attempt and what to check.
   * If `caPems` is empty, the system's CA certificates are used.
   */
  fetchWrapped(call: WrappedCall): Promise<{ status: number; body: string }>
  /** If undefined, certificates use real P-521 keys. */
  readonly certificateKeys?: CertificateKeys | undefined
}

/**
 * The dependencies of replication that exist before it starts. The composition root implements them with the engine,
 * barrier, mount tables and listeners.
 */
export interface ReplicationHost extends Surroundings {
  readonly identity: ClusterIdentity
  readonly settings: ReplicationSettings
  readonly license: License
  /** Returns false once another node of this cluster may have written data that this node does not know. */
  isLeading(): boolean

  /**
   * The barrier with full keys (`core/cluster/...`). On a DR secondary, only ignored keys can be written through it.
   */
  readonly storage: Storage
  readonly store: ReplicableStore

  /**
   * Commits a role in one durable batch. This is the only way to write local keys on a DR secondary and replicated keys
   * on a secondary, because the batch decides the cluster's role.
   */
  commit(write: (tx: Transaction) => void): Promise<void>

  /**
   * Returns the root key, and the stored records that a wiped cluster needs before it can read a copy of this cluster's
   * data.
   */
  exportKeyMaterial(): KeyMaterial

  /**
   * Durably decides to delete all data. Creates a new generation of the directory with the key material and `records`,
   * then restarts the runtime from it. `records` have full keys and plain values, which the new keyring encrypts. The
   * cluster keeps its ID and name. Resolves when the decision is durable, before the restart. From then on, status
   * reads show the cluster as bootstrapping.
   */
  wipeAndRestart(next: FreshStart): Promise<void>

  /**
   * Rejects all writes that would enter the log for secondaries of this kind, from any source. Resolves when all
   * earlier writes are in the log. The returned function lifts the fence, as does a restart.
   */
  fenceWrites(kind: Kind): Promise<() => void>

  /** Requests a restart of the runtime from its records after the current response is sent. */
  restart(reason: string): void

  /**
   * Moves the stored data, without the purge mark, to a new generation of the directory. Then destroys the old
   * generation with all data that was ever deleted in it. The store stays in use. Returns at once.
   */
  destroyDeleted(): void

  /** The current mount tables and namespaces, for path filters. */
  mounts(): readonly MountFact[]
  namespaces(): readonly NamespaceFact[]
  /**
   * From now on, calls `follower` in every transaction that moves or removes a mount or a namespace. Call the function
   * that each method returns when the transaction is stored or has failed.
   */
  followMounts(follower: {
    mountChanged(tx: Transaction, change: MountChange): () => void
    namespaceGone(tx: Transaction, gone: NamespaceFact): () => void
  }): void
}

/**
 * The functions of core that replication calls, on a primary or at the end of the first copy of a secondary.
 * Replication receives them when it starts, not as imports, because core depends on replication.
 */
export interface RoleServices {
  /**
   * Executes a request forwarded by a performance secondary through routing and backends. Throws `LogicalError` like a
   * backend.
   */
  executeForwarded(request: Request): Promise<Response | undefined>

  /** Set only on a server in dev mode. */
  readonly dev: DevServer | undefined
}

/** The part of core that the API paths of replication need. */
export interface PathServices {
  /** Wraps an activation bundle: returns a wrapping token in JWT form with `addr`, stored like any wrapped response. */
  wrapActivation(payload: JsonObject, ttlSeconds: number, creationPath: string): Promise<WrapInfo>

  /** On a DR secondary: throws a 403 unless the request's own token permits the request. */
  authorize(request: Request): void
  /** Returns true for a live batch token of the root namespace that permits exactly this request. */
  isBatchTokenAllowed(token: string, request: Request): boolean

  /** The key-share ceremony for an operation token. It shares its single attempt with generate-root. */
  readonly generation: GenerationAttempt

  /** Returns `data` of sys/license/status. */
  licenseStatus(): JsonObject
}

interface ClusterIdentity {
  /** `cluster_id` of sys/health: the ID of this cluster, not of its replication set. */
  readonly clusterId: string
  readonly clusterName: string
  /** The address for clients, with scheme; empty if not configured. */
  readonly apiAddress: string
  /** The advertised address of the cluster port as `https://host:port`; never the bound address. */
  readonly clusterAddress: string
  /** The addresses of all nodes of this cluster, this node first. */
  readonly clusterAddresses: readonly string[]
  readonly reportedVersion: string
}

export interface ReplicationSettings {
  readonly times: ReplicationTimes
  readonly bestEffortWalWaitMs: number
  /** Maximum time that a demotion waits for its secondaries. */
  readonly demoteDrainTimeoutMs: number
  readonly fenceClientWrites: boolean
  readonly allowOlderSecondary: boolean
  readonly isDevelopment: boolean
  /** True if the cluster has, or can have, more than one node. */
  readonly hasSeveralNodes: boolean
}

export type PlainRecord = Entry

/** Access to the root token of a development server. A primary sends its token to a secondary that requests it. */
export interface DevServer {
  /** Returns the root token that the server was started with; undefined once it is invalid. */
  findRootToken(): string | undefined
  /** Creates a root token with this ID, unless it exists. */
  plantRootToken(id: string): Promise<void>
}

/** `records` are stored bytes: the keyring, encrypted with the root key, and the seal configuration. */
export interface KeyMaterial {
  readonly rootKey: Buffer
  readonly records: readonly PlainRecord[]
}

/** The keys and records that a wiped cluster starts with. */
export interface FreshStart {
  readonly keyMaterial: KeyMaterial
  readonly records: readonly PlainRecord[]
  /** The set that the cluster joins. Status reads show it until the next runtime answers them. */
  readonly joining: { readonly kind: Kind; readonly setId: string }
}

export interface WrappedCall {
  readonly step: 'lookup' | 'unwrap'
  /** `https://host:port` or `http://host:port`. */
  readonly address: string
  readonly token: string
  readonly caPems: readonly string[]
  readonly clientCertPem: string
  readonly clientKeyPem: string
  readonly signal: AbortSignal
}
