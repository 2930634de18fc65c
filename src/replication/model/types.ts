import type { FilterRecord } from './filter-record.js'
import type { EpochChain } from './epoch.js'
import type { SurplusEntries } from './recent-frames.js'

/** Types that the control plane (roles, records, API) and the data plane (streams, resync, cluster port) share. */

export type Kind = 'dr' | 'performance'

/** State of the data of a secondary. `idle`: the secondary has no primary, or is revoked. */
export type StreamState = (typeof STREAM_STATES)[number]

const STREAM_STATES = ['idle', 'merkle-diff', 'merkle-sync', 'stream-wals'] as const

/** Parses a state name that another cluster sent. Returns `idle` for an unknown name. */
export const parseStreamState = (name: string): StreamState => STREAM_STATES.find((state) => state === name) ?? 'idle'

/** State of the connection of a secondary, with the names of the status endpoints. */
export type ConnectionState = 'ready' | 'connecting' | 'idle' | 'transient_failure' | 'shutdown'

/** States in which a lab can hold a cluster. In `apply`, received frames are not applied. */
export type HoldState = 'bootstrapping' | 'merkle-diff' | 'merkle-sync' | 'reindex' | 'apply'

/** A position in the log of a primary. Indexes of different epochs are of different logs and must not be compared. */
export interface PrimaryPosition {
  readonly epoch: string
  readonly index: number
}

/** Identity of a cluster. Every call between clusters contains it, in both directions. */
export interface PeerIdentity {
  /** ID of the replication set, which is equal on all members. */
  readonly setId: string
  readonly clusterId: string
  /** Version of the sender, for example `1.20.4+ent`. */
  readonly version: string
  readonly epochs: EpochChain
  /** API address as `https://host:port`; empty if it is not configured. */
  readonly apiAddress: string
  /** Addresses of the sender's cluster ports, best first, as `https://host:port`. */
  readonly clusterAddresses: readonly string[]
  /** Number of times that the sender replaced another cluster under the same registration (default 0). */
  readonly incarnation?: number
  /** True if the sender is a primary of the set. */
  readonly isPrimary?: boolean
  /** Ended epochs of both kinds. The sender was their primary, or followed their demoted primary. */
  readonly ended?: EpochChain
}

export const REFUSAL_CODES = [
  /** The certificate belongs to no registration, or its registration is revoked. */
  'revoked',
  /** The caller's version cannot follow this primary's version. */
  'version',
  /** The caller's epoch does not descend from this primary's epoch, or a newer primary has replaced this primary. */
  'epoch',
  /** The primary was demoted, and no DR copy can continue its epoch. The epoch has ended. */
  'over',
  /** The caller belongs to another set. */
  'set',
  /** Another cluster with the same secondary ID and a higher incarnation has replaced the caller. */
  'superseded',
  /** The caller has a position of this epoch that the log lacks: this primary was rewound. */
  'rewound',
  /** This node is not the active node of its cluster. */
  'standby',
  /** The call is temporarily impossible and can be retried. */
  'unavailable',
  /** The message has a form that no member of the set sends. */
  'invalid',
  /** The caller is not permitted to make this call. */
  'forbidden',
  /** The caller sent an invalid request, or the call failed. */
  'failed',
] as const
export type RefusalCode = (typeof REFUSAL_CODES)[number]

/** A newer primary of the set. If only one of its secondaries was detected, only `epochs` has a value. */
export interface Overtaker {
  readonly clusterId: string
  readonly epochs: EpochChain
  readonly apiAddress: string
  readonly clusterAddresses: readonly string[]
}

export interface Refusal {
  readonly ok: false
  readonly code: RefusalCode
  readonly text: string
  readonly overtaker?: Overtaker | undefined
}

export type Admission = { readonly ok: true; readonly secondaryId: string } | Refusal

export type RpcMethod =
  | 'Bootstrap'
  | 'Echo'
  | 'StreamWals'
  | 'ConflictingPages'
  | 'SubPageHashes'
  | 'FetchKeys'
  | 'Forward'
  | 'Ping'
  | 'CommonPosition'

/** The root key and the records that a wiped cluster receives before its first copy. */
export interface BootstrapPackage {
  readonly rootKey: Buffer
  /** The stored keyring and seal configuration. Values are stored bytes. */
  readonly records: readonly { readonly key: string; readonly value: Buffer }[]
  /** JSON text with further data of the control plane. */
  readonly extra: string
}

/** The functions of the control plane that a primary calls. All except `bootstrap` and `forward` are synchronous. */
export interface PrimaryHooks {
  who(): PeerIdentity
  /** Admits or refuses a call. Called first in every call. `commonName` is that of the caller's certificate. */
  admit(call: { readonly method: RpcMethod; readonly commonName: string; readonly who: PeerIdentity }): Admission
  /** Returns the addresses for secondaries: own nodes, the active one first, then the connected DR secondaries. */
  primaryAddresses(): readonly string[]
  /** Marks the registration of this certificate as connected, which is possible once. Resolves when it is stored. */
  bootstrap(
    caller: { readonly secondaryId: string; readonly commonName: string },
    who: PeerIdentity,
    wantsDevRoot: boolean,
  ): Promise<BootstrapPackage>
  /** Executes a request of a performance secondary. `payload` and the result are encoded by `forwarding/`. */
  forward(secondaryId: string, payload: Buffer, signal: AbortSignal): Promise<Buffer>
  /** Returns the path filter of a secondary; undefined if it receives all data. */
  filterFor(secondaryId: string): KeyFilter | undefined
}

/** Decides for each storage key whether it may be sent. Must be fast: it is called for every operation. */
export interface KeyFilter {
  /** A hash of the rule and the filtered mounts; never empty. If it differs on both sides, all data is compared. */
  readonly fingerprint: string
  /** The rule from which the filter was compiled. */
  readonly rule: FilterRecord
  shows(key: string): boolean
}

/** The functions of the control plane that a follower calls. */
export interface SecondaryHooks {
  who(): PeerIdentity
  /** Returns the reason to reject a primary (an older epoch or another set), or undefined if it is accepted. */
  findObjection(primary: PeerIdentity): string | undefined
  /** Returns true while this cluster has entries that its primary lost. Then it only follows newer epochs. */
  isAhead(): boolean
  /** Records the epochs of the primary that is followed from now on. Awaited before its data is applied. */
  takeEpochs(primary: PeerIdentity): Promise<void>
  /** Returns true if clients can read the local data. This requires a complete first copy. */
  servesReads(): boolean
  /** Awaited before the follower enters a state, so that a lab can hold the follower there. */
  beforeState(state: HoldState, signal: AbortSignal): Promise<void>
  /** Called when the state, the connection or the known addresses of the primary change. */
  onChange?(): void
  /** Returns the fingerprint of the filter of the last comparison; empty without a filter. */
  filterFingerprint(): string
  /** Rebuilds the trees from the data. Called if root hashes stay different although the data is equal. */
  reindex(): Promise<void>
  /** Awaited before keys are deleted because a filter now withholds them. */
  beforeFiltered(): Promise<void>
  /** Awaited before log entries are applied that change the filters of these secondary IDs. */
  beforeFilterChange(ids: readonly string[]): Promise<void>
  /** Records the local entries that a new primary lacks. Awaited before data of this primary is applied. */
  keepSurplus(surplus: SurplusEntries): Promise<void>
  /** Records that the primary was rewound. This cluster then follows only a primary of a newer epoch. */
  stopAhead(surplus: SurplusEntries, primaryIndex: number): Promise<void>
  /** Called after a comparison: except for filtered keys, the data equals the primary's. `rule` is the filter rule. */
  onCompared(rule: string): Promise<void>
  /** Called when the primary was demoted or disabled, so that its epoch has ended. */
  onEpochEnded(): void
  /** Called just before the state becomes `stream-wals`. `isFound`: the primary has confirmed the position. */
  onSynced(isFound: boolean): Promise<void>
  /** Stores the primary's addresses for the next start. */
  onPrimaryAddresses(addresses: PrimaryAddresses): void
}

/** Known addresses of a primary as `https://host:port`, newest first. */
export interface PrimaryAddresses {
  /** The address that is in use or was used last. */
  readonly current: string
  readonly known: readonly string[]
  /** Earlier addresses, which are tried if none of the other addresses responds. */
  readonly former: readonly string[]
}

/** Credentials of a secondary for its primary, as PEM texts. `serverName` is `rep-<uuid>`, the name of the CA. */
export interface PrimaryCredentials {
  readonly serverName: string
  readonly caCertificate: string
  readonly certificate: string
  readonly privateKey: string
}

/** Identity of a primary on the cluster port: PEM texts of its CA, which is also its server certificate. */
export interface ServerIdentity {
  /** The common name of the CA: `rep-<uuid>`. */
  readonly serverName: string
  readonly certificate: string
  readonly privateKey: string
}

export interface ReplicationTimes {
  readonly heartbeatIntervalMs: number
  readonly keepaliveTimeMs: number
  readonly keepaliveTimeoutMs: number
  readonly backoffInitialMs: number
  readonly backoffMaxMs: number
  /** Timeout of one attempt to connect to one address, including TLS. */
  readonly connectTimeoutMs: number
  readonly bootstrapTimeoutMs: number
  readonly forwardingTimeoutMs: number
  readonly pingTimeoutMs: number
}

/** State of the link to a registered secondary, as its primary knows it. */
export interface SecondaryView {
  readonly secondaryId: string
  readonly isConnected: boolean
  /** Empty if the secondary never connected. */
  readonly apiAddress: string
  readonly clusterAddresses: readonly string[]
  readonly clusterId: string
  readonly lastHeartbeatMs: number | undefined
  readonly lastHeartbeatDurationMs: number
  readonly clockSkewMs: number
  readonly canaryAgeMs: number
  readonly appliedIndex: number
  readonly state: StreamState
}

/** State of the link to the primary, as a secondary knows it. */
export interface PrimaryView {
  readonly isConnected: boolean
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly clusterId: string
  readonly lastHeartbeatMs: number | undefined
  readonly lastHeartbeatDurationMs: number
  readonly clockSkewMs: number
  readonly canaryAgeMs: number
  /** Milliseconds since the primary announced the oldest index that has not arrived; 0 if all have arrived. */
  readonly lagMs: number
}

export interface SyncProgress {
  readonly totalKeys: number
  readonly doneKeys: number
}
