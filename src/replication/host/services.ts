import type { EpochChain } from '../model/epoch.js'
import type { SurplusEntries } from '../model/recent-frames.js'
import type {
  BootstrapPackage,
  ConnectionState,
  Kind,
  LogPlace,
  PrimaryCredentials,
  PrimaryHooks,
  Overtaker,
  PrimaryView,
  Refusal,
  RefusalCode,
  SecondaryHooks,
  SecondaryView,
  ServerIdentity,
  StreamState,
  SyncProgress,
  PeerIdentity,
} from '../model/types.js'

/** The running side of replication as the control plane drives it: streams and calls behind a few verbs. */
export interface DataPlane {
  /** Serves followers of one kind on the cluster port. */
  startPrimary(
    kind: Kind,
    options: {
      readonly identity: ServerIdentity
      readonly hooks: PrimaryHooks
      /** Told when a secondary connects, disconnects or moves. */
      readonly onChange: () => void
    },
  ): PrimaryService
  /** Follows a primary until it is stopped, whatever happens to the link. */
  startFollower(
    kind: Kind,
    options: {
      readonly credentials: PrimaryCredentials
      readonly addresses: readonly string[]
      /** Tried when none of those answers. */
      readonly formerAddresses?: readonly string[] | undefined
      readonly hooks: SecondaryHooks
    },
  ): FollowerService
  /** Connects once and fetches what a wiped cluster needs. Rejects with a LogicalError that tells what failed. */
  bootstrap(
    call: OneCall & { readonly wantsDevRoot: boolean },
  ): Promise<{ readonly primary: PeerIdentity; readonly package: BootstrapPackage }>
  /** Shows who we are to whoever listens there. Never rejects. */
  tell(call: OneCall): Promise<Told>
}

/** Whether somebody has taken note, if only to refuse, and which other newer primary was named. */
export interface Told {
  readonly isHeard: boolean
  readonly overtaker?: Overtaker | undefined
}

export interface OneCall {
  readonly credentials: PrimaryCredentials
  readonly addresses: readonly string[]
  readonly who: PeerIdentity
  readonly signal: AbortSignal
}

/** `epochs`: those in which the primary ran it. */
export interface ForwardReply {
  readonly payload: Buffer
  readonly epochs: EpochChain
}

export interface PrimaryService {
  /** The secondaries that have connected since the start. */
  readonly registry: {
    views(): readonly SecondaryView[]
    /** Told whenever a secondary comes, goes, or has applied more. Returns the unsubscribe function. */
    watch(listener: () => void): () => void
  }
  /** Ends every connection made with that certificate, now. The registration is to be gone before. */
  revoke(secondaryId: string, commonName: string): void
  /** The set of keys that a secondary may be shown has changed. */
  filterChanged(secondaryId: string): void
  /** Where the primary, or what may take its place, is to be found has changed: secondaries are told at once. */
  addressesChanged(): void
  /** Ends every stream with the refusal. */
  refuseAll(refusal: Refusal): void
  /** Says goodbye on every link. */
  stop(reason?: string): Promise<void>
}

export interface FollowerService {
  readonly state: StreamState
  readonly connectionState: ConnectionState
  readonly primary: PrimaryView | undefined
  /** `https://host:port` in use, or used last. */
  readonly primaryAddress: string
  readonly knownPrimaryAddresses: readonly string[]
  /** How much of its primary's log is applied here; undefined where nothing ever was. */
  readonly applied: LogPlace | undefined
  /** The last place that the primary said it has, since the start; undefined before it answered. */
  readonly announced: LogPlace | undefined
  readonly syncProgress: SyncProgress | undefined
  /** Why the primary refuses this cluster, while it does. */
  readonly refusal: RefusalCode | undefined
  /** The frames that were applied behind the primary's `index`, as far as they are remembered. */
  recentAfter(index: number): Pick<SurplusEntries, 'frames' | 'isComplete'>
  /** Runs a request at the primary. Rejects with `unavailable` when it cannot be asked, or its answer is missing. */
  forward(payload: Buffer, signal?: AbortSignal): Promise<ForwardReply>
  /** Of the primary that is followed, or was last. */
  readonly primaryEpochs: EpochChain
  /** Goes over to the first that answers as our primary. Rejects, and changes nothing, when none does. */
  updateAddresses(addresses: readonly string[]): Promise<{ readonly address: string }>
  stop(): Promise<void>
}
