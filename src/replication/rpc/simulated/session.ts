import type { Clock, Timer } from '../../../base/clock.js'
import { LogicalError } from '../../../logical/errors.js'
import type { ReplicationTimes } from '../../model/types.js'
import type { Wire, WireMessage } from './wire.js'
import { WireCall } from './wire-call.js'

interface SessionOptions {
  readonly clock: Clock
  readonly times: Pick<ReplicationTimes, 'keepaliveTimeMs' | 'keepaliveTimeoutMs' | 'connectTimeoutMs'>
  /** The other side begins a call. */
  readonly onCall?: (method: string, call: WireCall) => void
}

/** One end of a connection whose sides know each other: the calls over it, and whether the other side still answers. */
export class Session {
  readonly #wire: Wire
  readonly #options: SessionOptions
  readonly #calls = new Map<number, WireCall>()
  readonly #lost = new AbortController()
  #nextId = 1
  #lastHeardMs = Number.NEGATIVE_INFINITY
  /** When the ping was sent that is not answered yet. */
  #askedMs: number | undefined
  /** How long the last ping that was answered took; the first one has as long as a connection may take. */
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

  /** Aborted when the connection is gone, with the reason: a LogicalError. */
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
    // A message that was under way when its call ended belongs to nobody.
    else if ('id' in message) this.#calls.get(message.id)?.take(message)
  }

  /** Whatever arrives after a ping shows that the other side is there; latency is no silence. */
  #ping(): void {
    const { clock, times } = this.#options
    const askedMs = clock.monotonic()
    this.#askedMs ??= askedMs
    this.#wire.send({ is: 'ping' })
    this.#timer = clock.setTimer(times.keepaliveTimeoutMs + this.#roundTripMs, () => {
      if (this.#lastHeardMs >= askedMs) this.#pingLater()
      else this.close(new LogicalError('unavailable', 'the other side does not answer any more'))
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
