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

/** The clock, random source, log and network calls that a process injects into replication. */
export interface Surroundings extends Pick<Facilities, 'clock' | 'random' | 'log'> {
  readonly recorder?: Recorder | undefined
  /**
   * Calls `PUT {address}/v1/sys/wrapping/{step}` with the whole token. A lookup does not consume the token, but an
   * unwrap does. Resolves to status and body text. Rejects with a `LogicalError` that describes the failure and what to
   * check. If `caPems` is empty, the system's CA certificates apply.
   */
  fetchWrapped(call: WrappedCall): Promise<{ status: number; body: string }>
  /** Creates the keys of certificates (default: real P-521 keys). */
  readonly certificateKeys?: CertificateKeys | undefined
}

/**
 * The dependencies of replication that exist before it starts. `server/wiring` implements them with the engine, the
 * barrier, the mount tables and the listeners.
 */
export interface ReplicationHost extends Surroundings {
  readonly identity: ClusterIdentity
  readonly settings: ReplicationSettings
  readonly license: License
  /** Returns false after this node has lost the leadership, because another node may have written newer data. */
  isLeading(): boolean

  /** The barrier, with full storage keys (`core/cluster/...`). On a DR secondary, only ignored keys can be written. */
  readonly storage: Storage
  readonly store: ReplicableStore

  /**
   * Commits a change of role records in one durable batch. Only this method can write local keys on a DR secondary, and
   * replicated keys on any secondary, because the batch decides the role of the cluster.
   */
  commit(write: (tx: Transaction) => void): Promise<void>

  /** Returns the root key, and the stored records that a wiped cluster needs to read a copy of this cluster's data. */
  exportKeyMaterial(): KeyMaterial

  /**
   * Deletes all data of this cluster except its ID and name. Creates a new generation of the directory with the key
   * material and `records`, then restarts the runtime from it. `records` have full keys and plain values, which the new
   * keyring encrypts. Resolves when the decision is durable, before the restart. From then on, status responses show
   * the cluster as bootstrapping.
   */
  wipeAndRestart(next: FreshStart): Promise<void>

  /**
   * Fences writes: from now on, rejects all writes that would enter the log for secondaries of this kind. Resolves when
   * all earlier writes are in the log. The returned function removes the fence. A restart removes the fence too.
   */
  fenceWrites(kind: Kind): Promise<() => void>

  /** Requests a restart of the runtime. The restart begins after the current response is sent. */
  restart(reason: string): void

  /**
   * Moves the stored data, without the purge mark, to a new generation of the directory, and destroys the old
   * generation with all deleted data. Returns immediately. The store stays in use during the move.
   */
  destroyDeleted(): void

  /** The current mount tables and namespaces, for path filters. */
  mounts(): readonly MountFact[]
  namespaces(): readonly NamespaceFact[]
  /**
   * Sets the functions that run in every transaction that moves or removes a mount or a namespace. Each returns a
   * function that is called when the transaction is stored or has failed.
   */
  followMounts(follower: {
    mountChanged(tx: Transaction, change: MountChange): () => void
    namespaceGone(tx: Transaction, gone: NamespaceFact): () => void
  }): void
}

/**
 * The functions of core that replication calls on a primary, or at the end of the first copy on a secondary.
 * Replication receives them at its start instead of importing them, because core depends on replication.
 */
export interface RoleServices {
  /** Executes a request that a performance secondary forwarded. Rejects with `LogicalError` like a backend. */
  executeForwarded(request: Request): Promise<Response | undefined>

  /** Set only on a server in dev mode. */
  readonly dev: DevServer | undefined
}

/** The functions of core that the API paths of replication call. */
export interface PathServices {
  /**
   * Wraps an activation bundle in a response-wrapping token, which is a JWT with the claim `addr`. The time-to-live is
   * in seconds.
   */
  wrapActivation(payload: JsonObject, ttlSeconds: number, creationPath: string): Promise<WrapInfo>

  /** Throws a 403 error on a DR secondary if the request's token does not permit the request. */
  authorize(request: Request): void
  /** Returns true for a valid batch token of the root namespace whose policies permit exactly this request. */
  isBatchTokenAllowed(token: string, request: Request): boolean

  /** The attempt to generate a DR operation token with key shares. It is shared with generate-root. */
  readonly generation: GenerationAttempt

  /** Returns `data` of the response of `sys/license/status`. */
  licenseStatus(): JsonObject
}

interface ClusterIdentity {
  /** The ID of this cluster (`cluster_id` of `sys/health`), not the ID of its replication set. */
  readonly clusterId: string
  readonly clusterName: string
  /** The API address for clients, with scheme; empty if it is not configured. */
  readonly apiAddress: string
  /** The advertised address of the cluster port as `https://host:port`. It may differ from the bound address. */
  readonly clusterAddress: string
  /** The advertised cluster addresses of all nodes of this cluster, this node first. */
  readonly clusterAddresses: readonly string[]
  readonly reportedVersion: string
}

export interface ReplicationSettings {
  readonly times: ReplicationTimes
  readonly bestEffortWalWaitMs: number
  /** Maximum time in milliseconds that a demotion waits for secondaries to apply all entries. */
  readonly demoteDrainTimeoutMs: number
  readonly fenceClientWrites: boolean
  readonly allowOlderSecondary: boolean
  readonly isDevelopment: boolean
  /** True if the cluster has, or can have, more than one node. */
  readonly hasSeveralNodes: boolean
}

export type PlainRecord = Entry

/** The root token of a server in dev mode. A primary sends its token to a secondary that requests it. */
export interface DevServer {
  /** Returns the root token with which the server was started, or undefined if the token is no longer valid. */
  findRootToken(): string | undefined
  /** Creates a root token with this ID if it does not exist. */
  plantRootToken(id: string): Promise<void>
}

/** The root key, and the stored keyring and seal configuration. The root key encrypts the keyring. */
export interface KeyMaterial {
  readonly rootKey: Buffer
  readonly records: readonly PlainRecord[]
}

/** The keys and records that a wiped cluster starts with. */
export interface FreshStart {
  readonly keyMaterial: KeyMaterial
  readonly records: readonly PlainRecord[]
  /** The set that the cluster joins. Status responses show this set until the new runtime has started. */
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
