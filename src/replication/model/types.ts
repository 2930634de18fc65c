import type { FilterRecord } from './filter-record.js'
import type { EpochChain } from './epoch.js'
import type { SurplusEntries } from './recent-frames.js'

/** Types that the control plane (roles, records, API) and the data plane (streams, sync, cluster port) share. */

export type Kind = 'dr' | 'performance'

/** State of a secondary's data. `idle`: it has no primary, or was revoked. */
export type StreamState = (typeof STREAM_STATES)[number]

const STREAM_STATES = ['idle', 'merkle-diff', 'merkle-sync', 'stream-wals'] as const

/** Parses a state name of another cluster. Returns `idle` for an unknown name. */
export const parseStreamState = (name: string): StreamState => STREAM_STATES.find((state) => state === name) ?? 'idle'

/** State of a secondary's connection, in the terms of the status endpoints. */
export type ConnectionState = 'ready' | 'connecting' | 'idle' | 'transient_failure' | 'shutdown'

/** States in which a lab can hold a cluster. `apply`: received frames are not applied. */
export type HoldState = 'bootstrapping' | 'merkle-diff' | 'merkle-sync' | 'reindex' | 'apply'

/** A position in a primary's log. Indexes of different epochs belong to different logs and must not be compared. */
export interface PrimaryPosition {
  readonly epoch: string
  readonly index: number
}

/** Identity of the sender, included in every call between clusters in both directions. */
export interface PeerIdentity {
  /** ID of the replication set; equal on all members. */
  readonly setId: string
  readonly clusterId: string
  /** Version of the sender, for example `1.20.4+ent`. */
  readonly version: string
  readonly epochs: EpochChain
  /** API address as `https://host:port`, or empty. */
  readonly apiAddress: string
  /** Addresses of the sender's cluster port, best first, as `https://host:port`. */
  readonly clusterAddresses: readonly string[]
  /** Number of times that the sender replaced another cluster under the same registration; 0 if absent. */
  readonly incarnation?: number
  /** True if the sender is a primary of the set. */
  readonly isPrimary?: boolean
  /** Ended epochs of either kind: the sender gave them up, or their primary was demoted. */
  readonly ended?: EpochChain
}

export const REFUSAL_CODES = [
  /** The certificate belongs to no registration, or to a revoked one. */
  'revoked',
  /** The caller's version cannot follow this primary's version. */
  'version',
  /** The caller's epoch does not descend from this primary's epoch, or that epoch was overtaken. */
  'epoch',
  /** The primary was demoted, and no copy is left that could continue: its epoch has ended. */
  'over',
  /** The caller belongs to another set. */
  'set',
  /** Another cluster with the same secondary ID and a higher incarnation has replaced the caller. */
  'superseded',
  /** The caller is ahead of this primary in its own epoch: this primary was rewound. */
  'rewound',
  /** This node is not the active node of its cluster. */
  'standby',
  /** Temporarily impossible; can be retried. */
  'unavailable',
  /** The message has a form that no member of the set sends. */
  'invalid',
  /** The caller is not permitted to make this call. */
  'forbidden',
  /** An error of the caller, or a failure during the call. */
  'failed',
] as const
export type RefusalCode = (typeof REFUSAL_CODES)[number]

/** Another primary of the set with a newer epoch. If only a follower of it was detected, contains only the epochs. */
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

/** The keys and records that a wiped cluster receives before its first copy. */
export interface BootstrapPackage {
  readonly rootKey: Buffer
  /** Stored records to write first: keyring, seal configuration. Values as stored. */
  readonly records: readonly { readonly key: string; readonly value: Buffer }[]
  /** JSON of the control plane. */
  readonly extra: string
}

/** The calls of a primary's streams to its control plane. All except `bootstrap` and `forward` are synchronous. */
export interface PrimaryHooks {
  who(): PeerIdentity
  /** The first hook of every call. `commonName`: common name of the caller's certificate. */
  admit(call: { readonly method: RpcMethod; readonly commonName: string; readonly who: PeerIdentity }): Admission
  /** Returns the addresses for secondaries: all own nodes, the active one first, then the connected DR secondaries. */
  primaryAddresses(): readonly string[]
  /** Marks the registration of this certificate as connected, which is possible once. Resolves when this is durable. */
  bootstrap(
    caller: { readonly secondaryId: string; readonly commonName: string },
    who: PeerIdentity,
    wantsDevRoot: boolean,
  ): Promise<BootstrapPackage>
  /** Executes a request for a performance secondary. Both sides agree on the format of the payload. */
  forward(secondaryId: string, payload: Buffer, signal: AbortSignal): Promise<Buffer>
  /** Returns the filter on the replicated tree for a secondary; undefined if it receives all data. */
  filterFor(secondaryId: string): KeyFilter | undefined
}

/** Decides per storage key whether it may be sent. Pure and fast, because it is called for every operation. */
export interface KeyFilter {
  /** Equal if both sides know the same rule and mounts; never empty. If it differs, all data must be compared. */
  readonly fingerprint: string
  /** The rule from which the filter was compiled. */
  readonly rule: FilterRecord
  shows(key: string): boolean
}

/** The calls of a follower to its control plane. */
export interface SecondaryHooks {
  who(): PeerIdentity
  /** Returns the reason to reject the primary: an older epoch or another set; undefined if it is accepted. */
  findObjection(primary: PeerIdentity): string | undefined
  /** Records that this primary is followed from now on. Awaited before any of its data is applied. */
  takeEpochs(primary: PeerIdentity): Promise<void>
  /** Returns true if clients can read the local data, which requires a complete first copy. */
  servesReads(): boolean
  /** Awaited before the follower enters a state, so that a lab can hold it there. */
  beforeState(state: HoldState, signal: AbortSignal): Promise<void>
  /** Called on each change of state or connection, and when the primary's addresses change. */
  onChange?(): void
  /** Returns the fingerprint of the filter under which the local data was compared; empty without a filter. */
  filterFingerprint(): string
  /** Rebuilds the trees from the data, if roots stay different although the data is equal. */
  reindex(): Promise<void>
  /** Awaited before keys are deleted because they are now filtered. */
  beforeFiltered(): Promise<void>
  /** Awaited before log entries are applied that change the filters of these secondaries. */
  beforeFilterChange(ids: readonly string[]): Promise<void>
  /** Receives the local entries that a new primary does not have. Awaited before data of that primary is applied. */
  keepSurplus(surplus: SurplusEntries): Promise<void>
  /** Records durably that the primary was rewound. This cluster then follows no primary until an operator decides. */
  stopAhead(surplus: SurplusEntries, primaryIndex: number): Promise<void>
  /** Called after a comparison: except for filtered keys, the data equals the primary's. `rule`: rule of the session. */
  onCompared(rule: string): Promise<void>
  /** Called when the primary has permanently given up its role, so that its epoch has ended. */
  onEpochEnded(): void
  /** Called when the first copy or a later sync is complete, just before the state becomes stream-wals. */
  onSynced(): Promise<void>
  /** Receives the primary's addresses, to be stored for the next start. */
  onPrimaryAddresses(addresses: PrimaryAddresses): void
}

/** Each as `https://host:port`, newest first. */
export interface PrimaryAddresses {
  /** The address in use, or used last. */
  readonly current: string
  readonly known: readonly string[]
  /** Tried if none of the other addresses responds. */
  readonly former: readonly string[]
}

/** Credentials of a secondary at its primary. PEM texts; `serverName` is `rep-<uuid>`, the name of the CA. */
export interface PrimaryCredentials {
  readonly serverName: string
  readonly caCertificate: string
  readonly certificate: string
  readonly privateKey: string
}

/** A primary's identity on the cluster port for one kind: PEM texts of its CA, which is also its server certificate. */
export interface ServerIdentity {
  /** `rep-<uuid>`, the CA's common name. */
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
  /** Timeout of one connection attempt to one address, including TLS. */
  readonly connectTimeoutMs: number
  readonly bootstrapTimeoutMs: number
  readonly forwardingTimeoutMs: number
  readonly pingTimeoutMs: number
}

/** A registered secondary's link as its primary sees it. */
export interface SecondaryView {
  readonly secondaryId: string
  readonly isConnected: boolean
  /** Empty if it never connected. */
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

/** The primary as a secondary sees it. */
export interface PrimaryView {
  readonly isConnected: boolean
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly clusterId: string
  readonly lastHeartbeatMs: number | undefined
  readonly lastHeartbeatDurationMs: number
  readonly clockSkewMs: number
  readonly canaryAgeMs: number
  /** Age of the oldest announced index that has not arrived, in milliseconds; 0 if all have arrived. */
  readonly lagMs: number
}

export interface SyncProgress {
  readonly totalKeys: number
  readonly doneKeys: number
}
