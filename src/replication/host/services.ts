import type { EpochChain } from '../model/epoch.js'
import type { SurplusEntries } from '../model/recent-frames.js'
import type * as Model from '../model/types.js'
import type { WalPosition } from '../../storage/keys/replicable.js'

/** The services of replication that roles start and stop. */
export interface DataPlane {
  /** Serves the secondaries of one kind on the cluster port. */
  startPrimary(
    kind: Model.Kind,
    options: {
      readonly identity: Model.ServerIdentity
      readonly hooks: Model.PrimaryHooks
      /** Called when a secondary connects, disconnects or changes its position. */
      readonly onChange: () => void
    },
  ): PrimaryService
  /** Follows a primary until `stop`. Reconnects after connection failures. */
  startFollower(
    kind: Model.Kind,
    options: {
      readonly credentials: Model.PrimaryCredentials
      readonly addresses: readonly string[]
      /** Addresses to try if none of `addresses` responds. */
      readonly formerAddresses?: readonly string[] | undefined
      readonly hooks: Model.SecondaryHooks
    },
  ): FollowerService
  /**
   * Connects to the primary once and fetches the data that a wiped cluster needs. Rejects with a `LogicalError` that
   * describes the failure.
   */
  bootstrap(
    call: OneCall & { readonly wantsDevRoot: boolean },
  ): Promise<{ readonly primary: Model.PeerIdentity; readonly package: Model.BootstrapPackage }>
  /** Announces the identity and epochs of this cluster to the server at an address. Never rejects. */
  tell(call: OneCall): Promise<Told>
}

/**
 * The result of `tell`:
 * - `isHeard`: true if the server received the identity, even if it rejected the call
 * - `overtaker`: a newer primary that the rejection named
 */
export interface Told {
  readonly isHeard: boolean
  readonly overtaker?: Model.Overtaker | undefined
}

export interface OneCall {
  readonly credentials: Model.PrimaryCredentials
  readonly addresses: readonly string[]
  readonly who: Model.PeerIdentity
  readonly signal: AbortSignal
}

/** The response to a forwarded request, and the epochs of the primary that executed it. */
export interface ForwardReply {
  readonly payload: Buffer
  readonly epochs: EpochChain
}

export interface PrimaryService {
  /** The secondaries that have connected since the start. */
  readonly registry: {
    views(): readonly Model.SecondaryView[]
    /** Calls the listener when a secondary connects, disconnects or applies entries. Returns the unsubscriber. */
    watch(listener: () => void): () => void
  }
  /** Closes all connections of a secondary and of its certificate. The caller must remove the registration first. */
  revoke(secondaryId: string, commonName: string): void
  /** Must be called after a change of the keys that a secondary may receive, and before the response to the client. */
  filterChanged(secondaryId: string): void
  /**
   * Must be called after a change of the addresses of the primary or of its possible successors. Sends them to all
   * secondaries.
   */
  addressesChanged(): void
  /** Sends a refusal to every secondary, and ends all streams. */
  refuseAll(refusal: Model.Refusal): void
  stop(reason?: string): Promise<void>
}

export interface FollowerService {
  readonly state: Model.StreamState
  readonly connectionState: Model.ConnectionState
  readonly primary: Model.PrimaryView | undefined
  /** The address (`https://host:port`) that is in use or was used last. */
  readonly primaryAddress: string
  readonly knownPrimaryAddresses: readonly string[]
  /** The applied position in the primary's log; undefined if nothing was ever applied. */
  readonly applied: Model.PrimaryPosition | undefined
  /** The last announced position of the primary; undefined before the first message since the start. */
  readonly announced: Model.PrimaryPosition | undefined
  readonly syncProgress: Model.SyncProgress | undefined
  /** The reason why the primary refuses this cluster; undefined if it does not. */
  readonly refusal: Model.RefusalCode | undefined
  /** Returns the frames in memory that were applied after `index` of the primary's log. */
  recentAfter(index: number): Pick<SurplusEntries, 'frames' | 'isComplete'>
  /** Returns the applied positions in the primary's log that are in memory, newest first. */
  recentPositions(): readonly WalPosition[]
  /**
   * Forwards a request to the primary. Rejects with `LogicalError` `unavailable` if the primary is unreachable, or if
   * its response is lost.
   */
  forward(payload: Buffer, signal?: AbortSignal): Promise<ForwardReply>
  /** The epochs of the current or last primary. */
  readonly primaryEpochs: EpochChain
  /** Switches to the first address at which the expected primary responds. Rejects, without a change, if none does. */
  updateAddresses(addresses: readonly string[]): Promise<{ readonly address: string }>
  stop(): Promise<void>
}
