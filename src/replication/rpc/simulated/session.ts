import type { Clock, Timer } from '../../../base/clock.js'
import { LogicalError } from '../../../logical/errors.js'
import type { ReplicationTimes } from '../../model/types.js'
import type { Wire, WireMessage } from './wire.js'
import { WireCall } from './wire-call.js'

interface SessionOptions {
  readonly clock: Clock
  readonly times: Pick<ReplicationTimes, 'keepaliveTimeMs' | 'keepaliveTimeoutMs' | 'connectTimeoutMs'>
  /** Called when the peer starts a call. */
  readonly onCall?: (method: string, call: WireCall) => void
}

/** One end of an authenticated connection. Manages its calls, and detects an unresponsive peer. */
export class Session {
  readonly #wire: Wire
  readonly #options: SessionOptions
  readonly #calls = new Map<number, WireCall>()
  readonly #lost = new AbortController()
  #nextId = 1
  #lastHeardMs = Number.NEGATIVE_INFINITY
  /** Monotonic send time, in milliseconds, of the ping that has no response yet. */
  #askedMs: number | undefined
  /** Round-trip time of the last ping in milliseconds; initially the connect timeout. */
  #roundTripMs: number
  #timer: Timer

  constructor(wire: Wire, options: SessionOptions) {
    this.#wire = wire
    this.#options = options
    this.#roundTripMs = options.times.connectTimeoutMs
    this.#timer = options.clock.setTimer(0, () => this.#ping())
    wire.listen({
      onMessage: (message) => this.#take(message),
      onClose: () => this.#end(new LogicalError('unavailable', 'the connection was lost')),
    })
  }

  /** Aborted when the connection is lost. The reason is a `LogicalError`. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  call(method: string): WireCall {
    const id = this.#nextId++
    this.#wire.send({ is: 'call', id, method })
    return this.#open(id)
  }

  close(reason: LogicalError): void {
    this.#wire.close()
    this.#end(reason)
  }

  #open(id: number): WireCall {
    const call = new WireCall(
      id,
      (message) => this.#wire.send(message),
      () => this.#calls.delete(id),
    )
    this.#calls.set(id, call)
    return call
  }

  #take(message: WireMessage): void {
    this.#lastHeardMs = this.#options.clock.monotonic()
    if (message.is === 'pong') this.#answered()
    else if (message.is === 'ping') this.#wire.send({ is: 'pong' })
    else if (message.is === 'call') this.#options.onCall?.(message.method, this.#open(message.id))
    // Messages that arrive after the end of their call are ignored.
    else if ('id' in message) this.#calls.get(message.id)?.take(message)
  }

  /** Sends a ping. Closes the connection if no message arrives in time, plus the measured round-trip time. */
  #ping(): void {
    const { clock, times } = this.#options
    const askedMs = clock.monotonic()
    this.#askedMs ??= askedMs
    this.#wire.send({ is: 'ping' })
    this.#timer = clock.setTimer(times.keepaliveTimeoutMs + this.#roundTripMs, () => {
      if (this.#lastHeardMs >= askedMs) this.#pingLater()
      else this.close(new LogicalError('unavailable', 'the connection was closed, because the peer does not respond'))
    })
  }

  #pingLater(): void {
    const { clock, times } = this.#options
    this.#timer = clock.setTimer(times.keepaliveTimeMs, () => this.#ping())
  }

  #answered(): void {
    if (this.#askedMs === undefined) return
    this.#roundTripMs = this.#lastHeardMs - this.#askedMs
    this.#askedMs = undefined
    this.#timer.cancel()
    this.#pingLater()
  }

  #end(reason: LogicalError): void {
    if (this.#lost.signal.aborted) return
    this.#timer.cancel()
    this.#lost.abort(reason)
    for (const call of [...this.#calls.values()]) call.lose(reason)
  }
}
