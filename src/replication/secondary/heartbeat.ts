import type { Clock } from '../../base/clock.js'
import type { PrimaryConnection } from '../rpc/transport.js'
import { parsePeer, toPeerMessage } from '../rpc/peer-identity.js'
import type { ReplicationTimes, StreamState, PeerIdentity } from '../model/types.js'

/** The measurements of the last answered heartbeat. */
interface Pulse {
  readonly atMs: number
  readonly durationMs: number
  /** Clock of the primary minus local clock, in milliseconds. */
  readonly clockSkewMs: number
}

interface HeartbeatOptions {
  readonly clock: Clock
  readonly times: ReplicationTimes
  readonly who: () => PeerIdentity
  readonly progress: () => { readonly appliedIndex: number; readonly state: StreamState }
  readonly onReply: (reply: { primary: PeerIdentity; addresses: readonly string[]; lastIndex: number }) => void
}

/**
 * Maximum number of announced indexes that wait until they are applied. While this list is full, new announcements are
 * not recorded. The lag is then still measured from the oldest index that is not applied.
 */
const CANARIES_MAX = 256

/** Sends heartbeats to the primary, and measures delay, clock skew and lag. */
export class Heartbeat {
  readonly #options: HeartbeatOptions
  #pulse: Pulse | undefined
  /**
   * Announced indexes with the monotonic times of their announcements. The first one is the last announced index that
   * is applied.
   */
  #canaries: { readonly index: number; readonly atMs: number }[] = []

  constructor(options: HeartbeatOptions) {
    this.#options = options
  }

  get last(): Pulse | undefined {
    return this.#pulse
  }

  /** Milliseconds since the primary announced the newest index that is applied; 0 before the first one. */
  get canaryAgeMs(): number {
    this.#settle()
    const reached = this.#canaries[0]
    return reached ? Math.max(Math.round(this.#options.clock.monotonic() - reached.atMs), 0) : 0
  }

  /** Milliseconds since the primary announced the oldest index that is not applied; 0 if all are applied. */
  get lagMs(): number {
    const { appliedIndex } = this.#options.progress()
    const outstanding = this.#canaries.find((canary) => canary.index > appliedIndex)
    return outstanding ? Math.max(Math.round(this.#options.clock.monotonic() - outstanding.atMs), 0) : 0
  }

  /** Sends heartbeats until the connection fails or `signal` is aborted. Always rejects. */
  async run(connection: PrimaryConnection, signal: AbortSignal): Promise<never> {
    this.#canaries = []
    const { clock, times } = this.#options
    for (;;) {
      await this.#beat(connection, signal)
      await clock.sleep(times.heartbeatIntervalMs, signal)
    }
  }

  async #beat(connection: PrimaryConnection, signal: AbortSignal): Promise<void> {
    const { clock, times, who, progress, onReply } = this.#options
    const { appliedIndex, state } = progress()
    const sentAtMs = clock.now()
    const startMs = clock.monotonic()
    const request = {
      who: toPeerMessage(who()),
      sent_at_ms: sentAtMs,
      applied_index: appliedIndex,
      last_duration_ms: this.#pulse?.durationMs ?? 0,
      clock_skew_ms: this.#pulse?.clockSkewMs ?? 0,
      canary_age_ms: this.canaryAgeMs,
      state,
    }
    // A heartbeat may wait behind a large message. Other code detects an unresponsive primary with keepalive pings.
    const timeoutMs = Math.max(times.forwardingTimeoutMs, times.keepaliveTimeMs + times.keepaliveTimeoutMs)
    const reply = await connection.call('echo', request, { timeoutMs, signal })
    const durationMs = clock.monotonic() - startMs
    this.#pulse = {
      atMs: clock.now(),
      durationMs: Math.round(durationMs),
      clockSkewMs: Math.round(reply.time_ms - (sentAtMs + durationMs / 2)),
    }
    if (this.#canaries.length < CANARIES_MAX) this.#canaries.push({ index: reply.last_index, atMs: startMs })
    onReply({ primary: parsePeer(reply.who), addresses: reply.primary_addresses, lastIndex: reply.last_index })
  }

  #settle(): void {
    const { appliedIndex } = this.#options.progress()
    const ahead = this.#canaries.findIndex((canary) => canary.index > appliedIndex)
    const reached = ahead < 0 ? this.#canaries.length : ahead
    if (reached > 1) this.#canaries = this.#canaries.slice(reached - 1)
  }
}
