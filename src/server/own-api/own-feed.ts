import type { Clock } from '../../base/clock.js'
import { printJson } from '../../base/json-print.js'
import { LIMITS } from '../../base/limits.js'
import { LogicalError } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import { clientRequests } from '../../core/status/metrics.js'
import { secondaryLags, upstreamLag } from '../wiring/metric-reading.js'
import { describeNode, type LabServer } from './lab-server.js'

/** Interval of status events in milliseconds. Events are sent regularly, because the lag grows without events. */
const INTERVAL_MS = 1000

/**
 * Streams the status of this server and its replication peers as server-sent events, once a second. Collects nothing
 * while there is no reader. Contains no secrets. Status endpoints publish part of this data.
 */
export class OwnFeed {
  readonly #server: LabServer
  readonly #clock: Clock
  readonly #end: AbortSignal
  #readers = 0

  /** All streams end when `end` is aborted, so that readers do not delay the shutdown. */
  constructor(server: LabServer, { clock, end }: { readonly clock: Clock; readonly end: AbortSignal }) {
    this.#server = server
    this.#clock = clock
    this.#end = end
  }

  /** Opens a stream. Throws `LogicalError` `unavailable` if there are too many readers. */
  open(): AsyncIterable<Buffer> {
    if (this.#readers >= LIMITS.ownFeedReadersMax)
      throw new LogicalError(
        'unavailable',
        `the maximum of ${LIMITS.ownFeedReadersMax} open pages is reached: close one`,
      )
    this.#readers += 1
    const stream = this.#read()
    let isOpen = true
    const leave = () => {
      if (isOpen) this.#readers -= 1
      isOpen = false
    }
    return { [Symbol.asyncIterator]: () => leaving(stream, leave) }
  }

  async *#read(): AsyncGenerator<Buffer, void, void> {
    const signal = this.#end
    yield Buffer.from(`retry: ${INTERVAL_MS}\n\n`)
    while (!signal.aborted) {
      yield Buffer.from(`event: look\ndata: ${printJson(readStatus(this.#server, this.#clock.now()))}\n\n`)
      await this.#clock.sleep(INTERVAL_MS, signal).catch(() => undefined)
    }
  }
}

/** Wraps a stream. Calls `leave` when the stream ends, fails or is canceled, even if it was never read. */
const leaving = (stream: AsyncGenerator<Buffer, void, void>, leave: () => void): AsyncIterator<Buffer, void> => ({
  async next() {
    try {
      const read = await stream.next()
      if (read.done) leave()
      return read
    } catch (error) {
      leave()
      throw error
    }
  },
  async return() {
    leave()
    return stream.return()
  },
})

const readStatus = (server: LabServer, nowMs: number): JsonObject => {
  const { runtime, status, meter } = server
  return {
    at_ms: nowMs,
    name: status.facts.clusterName,
    version: status.reportedVersion,
    api_address: status.apiAddress,
    cluster_address: status.clusterAddress,
    initialized: runtime?.seal.isInitialized ?? null,
    sealed: runtime?.seal.isSealed ?? null,
    node: describeNode(server) ?? null,
    requests: clientRequests(meter),
    dr: runtime?.cluster?.replication.statusData('dr') ?? null,
    performance: runtime?.cluster?.replication.statusData('performance') ?? null,
    lags: lagsOf(server),
  }
}

/** Returns the lag of each secondary of this primary, and the lag of this secondary behind its primary. */
const lagsOf = ({ runtime }: LabServer): JsonObject => {
  const parts = runtime?.cluster?.replication
  if (!runtime || !parts) return { secondaries: [], upstream: null }
  const upstream = upstreamLag(parts)
  return {
    secondaries: secondaryLags(runtime, parts).map(({ lastHeartbeatMs: _, ...lag }) => lag),
    upstream: upstream ? { entries: upstream.entries, ms: upstream.ms } : null,
  }
}

export const isStream = (answer: JsonObject | AsyncIterable<Buffer>): answer is AsyncIterable<Buffer> =>
  Symbol.asyncIterator in answer
