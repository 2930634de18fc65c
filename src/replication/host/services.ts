import type { EpochChain } from '../model/epoch.js'
import type { SurplusEntries } from '../model/recent-frames.js'
import type * as Model from '../model/types.js'

/** The running services of replication, as the control plane uses them. */
export interface DataPlane {
  /** Serves followers of one kind on the cluster port. */
  startPrimary(
    kind: Model.Kind,
    options: {
      readonly identity: Model.ServerIdentity
      readonly hooks: Model.PrimaryHooks
      /** Called when a secondary connects, disconnects or changes its position. */
      readonly onChange: () => void
    },
  ): PrimaryService
  /** Follows a primary until it is stopped. Reconnects after connection failures. */
  startFollower(
    kind: Model.Kind,
    options: {
      readonly credentials: Model.PrimaryCredentials
      readonly addresses: readonly string[]
      /** Tried if none of the addresses responds. */
      readonly formerAddresses?: readonly string[] | undefined
      readonly hooks: Model.SecondaryHooks
    },
  ): FollowerService
  /**
   * Connects once and fetches the data that a wiped cluster needs. Rejects with a `LogicalError` that describes the
   * failure.
   */
  bootstrap(
    call: OneCall & { readonly wantsDevRoot: boolean },
  ): Promise<{ readonly primary: Model.PeerIdentity; readonly package: Model.BootstrapPackage }>
  /** Presents this cluster's identity to the server at an address. Never rejects. */
  tell(call: OneCall): Promise<Told>
}

/**
 * The result of `tell`:
 * - `isHeard`: true if the server has received the identity, even if it rejected the call
 * - `overtaker`: a newer primary that the rejection contained
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

/** `epochs`: the epochs in which the primary executed the request. */
export interface ForwardReply {
  readonly payload: Buffer
  readonly epochs: EpochChain
}

export interface PrimaryService {
  /** The secondaries that have connected since the start. */
  readonly registry: {
    views(): readonly Model.SecondaryView[]
    /**
     * Calls the listener whenever a secondary connects, disconnects or applies more. Returns the unsubscribe function.
     */
    watch(listener: () => void): () => void
  }
  /** Closes every connection of the secondary and of this certificate at once. Remove the registration first. */
  revoke(secondaryId: string, commonName: string): void
  /** Must be called when the set of keys that a secondary may receive has changed, before the response. */
  filterChanged(secondaryId: string): void
  /**
   * Must be called when the addresses of the primary or its possible successors have changed. Informs secondaries at
   * once.
   */
  addressesChanged(): void
  /** Ends every stream and sends the refusal to each secondary. */
  refuseAll(refusal: Model.Refusal): void
  stop(reason?: string): Promise<void>
}

export interface FollowerService {
  readonly state: Model.StreamState
  readonly connectionState: Model.ConnectionState
  readonly primary: Model.PrimaryView | undefined
  /** `https://host:port` in use, or used last. */
  readonly primaryAddress: string
  readonly knownPrimaryAddresses: readonly string[]
  /** The position applied from its primary's log; undefined if nothing was ever applied. */
  readonly applied: Model.PrimaryPosition | undefined
  /** The last position that the primary announced since the start; undefined before its first response. */
  readonly announced: Model.PrimaryPosition | undefined
  readonly syncProgress: Model.SyncProgress | undefined
  /** The primary's current reason to refuse this cluster; undefined if there is none. */
  readonly refusal: Model.RefusalCode | undefined
  /** Returns the frames applied after the primary's `index` that are still in memory. */
  recentAfter(index: number): Pick<SurplusEntries, 'frames' | 'isComplete'>
  /**
   * Forwards a request to the primary. Rejects with `unavailable` if the primary is unreachable, or its response is
   * lost.
   */
  forward(payload: Buffer, signal?: AbortSignal): Promise<ForwardReply>
  /** The epochs of the current or last primary. */
  readonly primaryEpochs: EpochChain
  /**
   * Switches to the first address that responds as the expected primary. Rejects, and changes nothing, if none does.
   */
  updateAddresses(addresses: readonly string[]): Promise<{ readonly address: string }>
  stop(): Promise<void>
}
