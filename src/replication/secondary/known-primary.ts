import { currentEpoch, type EpochChain } from '../model/epoch.js'
import type { PrimaryPosition, PrimaryView, PeerIdentity } from '../model/types.js'
import type { Heartbeat } from './heartbeat.js'

/**
 * The identity of the primary and its last announced position. After the connection is lost, both stay until the next
 * connection replaces them.
 */
export class KnownPrimary {
  /** Undefined until the primary has responded for the first time. */
  #who: PeerIdentity | undefined
  /**
   * Time in Unix milliseconds at which the primary accepted this cluster. It counts as the last heartbeat until the
   * first heartbeat.
   */
  #acceptedMs: number | undefined
  #announced: PrimaryPosition | undefined

  get epochs(): EpochChain {
    return this.#who?.epochs ?? []
  }

  /** The last announced position; undefined before the first announcement. */
  get announced(): PrimaryPosition | undefined {
    return this.#announced
  }

  /** Records that the primary has accepted this cluster. */
  accepted(who: PeerIdentity, lastIndex: number, nowMs: number): void {
    this.#acceptedMs = nowMs
    this.heard(who, lastIndex)
  }

  heard(who: PeerIdentity, lastIndex: number): void {
    this.#who = who
    this.announce(lastIndex)
  }

  /** Records an announced index. Within an epoch, the index never decreases. */
  announce(index: number): void {
    if (!this.#who) return
    const epoch = epochOf(this.#who)
    const before = this.#announced?.epoch === epoch ? this.#announced.index : 0
    this.#announced = { epoch, index: Math.max(before, index) }
  }

  /** Returns the primary for the status. Uses `address` if the primary announces no address. */
  view(isConnected: boolean, address: string, heartbeat: Heartbeat): PrimaryView | undefined {
    const who = this.#who
    if (!who) return undefined
    const pulse = heartbeat.last
    return {
      isConnected,
      apiAddress: who.apiAddress,
      clusterAddress: who.clusterAddresses[0] ?? address,
      clusterId: who.clusterId,
      lastHeartbeatMs: pulse?.atMs ?? this.#acceptedMs,
      lastHeartbeatDurationMs: pulse?.durationMs ?? 0,
      clockSkewMs: pulse?.clockSkewMs ?? 0,
      canaryAgeMs: heartbeat.canaryAgeMs,
      lagMs: heartbeat.lagMs,
    }
  }
}

export const epochOf = ({ epochs }: PeerIdentity): string => currentEpoch(epochs)?.id ?? ''
