import type { Clock } from '../../base/clock.js'
import type { PrimaryConnection } from '../rpc/transport.js'
import { parsePeer, toPeerMessage } from '../rpc/peer-identity.js'
import type { ReplicationTimes, StreamState, PeerIdentity } from '../model/types.js'

/** The measurements of the last answered heartbeat. */
interface Pulse {
  readonly atMs: number
  readonly durationMs: number
  /** How far the primary's clock is ahead of ours. */
  readonly clockSkewMs: number
}

interface HeartbeatOptions {
  readonly clock: Clock
  readonly times: ReplicationTimes
  readonly who: () => PeerIdentity
  readonly progress: () => { readonly appliedIndex: number; readonly state: StreamState }
  readonly onReply: (reply: { primary: PeerIdentity; addresses: readonly string[]; lastIndex: number }) => void
}

/** Announcements remembered while they are not reached; beyond them the oldest one stands for its successors. */
const CANARIES_MAX = 256

/** Asks the primary for a sign of life at each interval, and measures delay, clocks and age by it. */
export class Heartbeat {
  readonly #options: HeartbeatOptions
  #pulse: Pulse | undefined
  /** Announced indexes and when they were heard of; the first is the last one reached. */
  #canaries: { readonly index: number; readonly atMs: number }[] = []

  constructor(options: HeartbeatOptions) {
    this.#options = options
  }

  get last(): Pulse | undefined {
    return this.#pulse
  }

  /** How long ago the primary announced the newest index that has arrived here, in milliseconds. */
  get canaryAgeMs(): number {
    this.#settle()
    const reached = this.#canaries[0]
    return reached ? Math.max(Math.round(this.#options.clock.monotonic() - reached.atMs), 0) : 0
  }

  /** How long ago the primary announced the oldest index that has not arrived here, in milliseconds; 0 when all has. */
  get lagMs(): number {
    const { appliedIndex } = this.#options.progress()
    const outstanding = this.#canaries.find((canary) => canary.index > appliedIndex)
    return outstanding ? Math.max(Math.round(this.#options.clock.monotonic() - outstanding.atMs), 0) : 0
  }

  /** Beats until the connection fails or `signal` is aborted; always ends by rejection. */
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
    // A beat may stand behind a large message; whether the primary is there at all is what keepalive watches.
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
