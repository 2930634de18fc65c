import { currentEpoch, type EpochChain } from '../model/epoch.js'
import type { LogPlace, PrimaryView, PeerIdentity } from '../model/types.js'
import type { Heartbeat } from './heartbeat.js'

/**
 * The primary as a follower knows it from the primary's own messages: who it is, and how far its log goes. This
 * knowledge outlives the connection, and goes on with the next one.
 */
export class KnownPrimary {
  #who: PeerIdentity | undefined
  /** The time of the primary's first sign of life; the heartbeats come after it. */
  #acceptedMs: number | undefined
  #announced: LogPlace | undefined

  /** Undefined until it has answered once. */
  get who(): PeerIdentity | undefined {
    return this.#who
  }

  get epochs(): EpochChain {
    return this.#who?.epochs ?? []
  }

  /** The last place that it announced; undefined before it was reached. */
  get announced(): LogPlace | undefined {
    return this.#announced
  }

  /** The primary has taken this cluster. */
  accepted(who: PeerIdentity, lastIndex: number, nowMs: number): void {
    this.#acceptedMs = nowMs
    this.heard(who, lastIndex)
  }

  heard(who: PeerIdentity, lastIndex: number): void {
    this.#who = who
    this.announce(lastIndex)
  }

  /** Numbers of a primary are compared with those of its own epoch only. */
  announce(index: number): void {
    if (!this.#who) return
    const epoch = epochOf(this.#who)
    const before = this.#announced?.epoch === epoch ? this.#announced.index : 0
    this.#announced = { epoch, index: Math.max(before, index) }
  }

  /** As the status shows it. `address`: where it is reached, for one that names none. */
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
