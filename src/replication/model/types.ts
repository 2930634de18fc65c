import type { FilterRecord } from './filter-record.js'
import type { EpochChain } from './epoch.js'
import type { SurplusEntries } from './recent-frames.js'

/** Types that the control plane (roles, records, API) and the data plane (streams, sync, cluster port) share. */

export type Kind = 'dr' | 'performance'

/** Where a secondary's data stands. `idle`: it follows nobody, or was revoked. */
export type StreamState = (typeof STREAM_STATES)[number]

const STREAM_STATES = ['idle', 'merkle-diff', 'merkle-sync', 'stream-wals'] as const

/** A state as another cluster names it; `idle` for a name we do not know. */
export const parseStreamState = (name: string): StreamState => STREAM_STATES.find((state) => state === name) ?? 'idle'

/** How a secondary's connection stands, in the names of the status endpoints. */
export type ConnectionState = 'ready' | 'connecting' | 'idle' | 'transient_failure' | 'shutdown'

/** States in which a lab can hold a cluster; `apply` = received frames are not applied. */
export type HoldState = 'bootstrapping' | 'merkle-diff' | 'merkle-sync' | 'reindex' | 'apply'

/** A place in the log of a primary. Indexes of different epochs are different numberings, and are never compared. */
export interface LogPlace {
  readonly epoch: string
  readonly index: number
}

/** Who speaks. Travels with every call between clusters, in both directions. */
export interface PeerIdentity {
  /** Id of the replication set: equal on all members. */
  readonly setId: string
  /** Id of the speaking cluster itself. */
  readonly clusterId: string
  /** The version that the speaker reports, such as `1.20.4+ent`. */
  readonly version: string
  readonly epochs: EpochChain
  /** API address, as `https://host:port`, or empty. */
  readonly apiAddress: string
  /** Where the speaker's cluster port is to be reached, best first, as `https://host:port`. */
  readonly clusterAddresses: readonly string[]
  /** How often the speaker took the place of another cluster under the same registration; 0 when absent. */
  readonly incarnation?: number
  /** The speaker is a primary of the set, not a follower. */
  readonly isPrimary?: boolean
  /** Epochs, of either kind, that have no primary any more: the speaker gave them up, or their primary stepped back. */
  readonly ended?: EpochChain
}

export type RefusalCode =
  /** The certificate belongs to no registration, or to a revoked one. */
  | 'revoked'
  /** The caller's version may not follow ours. */
  | 'version'
  /** The caller's epoch does not descend from ours, or ours is overtaken. */
  | 'epoch'
  /** The primary has stepped back, and no copy of it is left that could go on: its epoch has ended. */
  | 'over'
  /** The caller belongs to another set. */
  | 'set'
  /** Another server with the same secondary id and a newer epoch took its place. */
  | 'superseded'
  /** The caller is ahead of us in our own epoch: we were put back in time. */
  | 'rewound'
  /** The node is not the active one of its cluster. */
  | 'standby'
  /** Not possible now; may be tried again. */
  | 'unavailable'
  /** The message is none that a member of the set would send. */
  | 'invalid'
  /** The caller may not ask that. */
  | 'forbidden'
  /** A mistake of the caller, or a failure while answering. */
  | 'failed'

/** Another primary of the set, with a newer epoch; no more than its epochs where only a follower of it was met. */
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

/** The keys and records that a wiped cluster gets before its first copy. */
export interface BootstrapPackage {
  readonly rootKey: Buffer
  /** Stored records to write first: keyring, seal configuration. Values as stored. */
  readonly records: readonly { readonly key: string; readonly value: Buffer }[]
  /** JSON of the control plane's own. */
  readonly extra: string
}

/** The calls of a primary's streams to its control plane. All but `bootstrap` and `forward` answer at once. */
export interface PrimaryHooks {
  who(): PeerIdentity
  /** Called for every call with the caller's certificate name, before anything else. */
  admit(call: { readonly method: RpcMethod; readonly commonName: string; readonly who: PeerIdentity }): Admission
  /** The addresses told to secondaries: those of all own nodes, the active one first, then those of connected DR secondaries. */
  primaryAddresses(): readonly string[]
  /** Resolves once the registration of this certificate is durable as taken, which happens once. */
  bootstrap(
    caller: { readonly secondaryId: string; readonly commonName: string },
    who: PeerIdentity,
    wantsDevRoot: boolean,
  ): Promise<BootstrapPackage>
  /** Runs a request that a performance secondary may not run itself; both sides agree on the bytes. */
  forward(secondaryId: string, payload: Buffer, signal: AbortSignal): Promise<Buffer>
  /** The filter on the replicated tree for a secondary; undefined = it has all. */
  filterFor(secondaryId: string): KeyFilter | undefined
}

/** Decides per storage key whether it may be shown. Pure and fast: called for every operation shipped. */
export interface KeyFilter {
  /** Equal on both sides when both know the same rule and mounts; never empty. Another one means: compare everything. */
  readonly fingerprint: string
  /** What it was compiled from. */
  readonly rule: FilterRecord
  shows(key: string): boolean
}

/** The calls of a follower to its control plane. */
export interface SecondaryHooks {
  who(): PeerIdentity
  /** Judges the primary that answered: a text refuses it (older or foreign epoch, other set). */
  findObjection(primary: PeerIdentity): string | undefined
  /** This primary is followed from now on. Awaited before anything of it is applied. */
  takeEpochs(primary: PeerIdentity): Promise<void>
  /** True when clients read what is stored here: not before a first copy is complete. */
  servesReads(): boolean
  /** Awaited before the follower enters a state, so that a lab can hold it there. */
  beforeState(state: HoldState, signal: AbortSignal): Promise<void>
  /** Told on each change of state or connection, and when the primary's addresses change. */
  onChange(): void
  /** Fingerprint of the filter that the data here was compared under; empty without one. */
  filterFingerprint(): string
  /** Rebuilds the trees from the data, when roots stay apart although the data is equal. */
  reindex(): Promise<void>
  /** Awaited before keys are deleted because they are filtered from now on. */
  beforeFiltered(): Promise<void>
  /** Awaited before entries of the log are applied that change the filters of these secondaries. */
  beforeFilterChange(ids: readonly string[]): Promise<void>
  /** Awaited before anything of a new primary is applied that does not know all we have. */
  keepSurplus(surplus: SurplusEntries): Promise<void>
  /**
   * The primary was put back in time: it does not have what we have of its own epoch. Resolves once that is durable; then
   * nobody is followed until an operator says so.
   */
  stopAhead(surplus: SurplusEntries, primaryIndex: number): Promise<void>
  /** A comparison is complete, and the data is the primary's but for what the filter holds back: `rule` as it was offered. */
  onCompared(rule: string): Promise<void>
  /** The primary has stepped back for good: from now on its epoch counts as ended. */
  onEpochEnded(): void
  /** The first copy, or a later one, is complete: state is about to become stream-wals. */
  onSynced(): Promise<void>
  /** Where the primary is looked for, to be kept for the next start. */
  onPrimaryAddresses(addresses: PrimaryAddresses): void
}

/** Each as `https://host:port`, the newest first. */
export interface PrimaryAddresses {
  /** The one in use, or used last. */
  readonly current: string
  readonly known: readonly string[]
  /** Tried when none of those answers. */
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
  /** One attempt to reach one address, TLS included. */
  readonly connectTimeoutMs: number
  readonly bootstrapTimeoutMs: number
  readonly forwardingTimeoutMs: number
  readonly pingTimeoutMs: number
}

/** A registered secondary's link as its primary sees it. */
export interface SecondaryView {
  readonly secondaryId: string
  readonly isConnected: boolean
  /** Empty when it never connected. */
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
  /** How long the oldest announced index has been waited for; 0 with nothing outstanding. */
  readonly lagMs: number
}

export interface SyncProgress {
  readonly totalKeys: number
  readonly doneKeys: number
}
