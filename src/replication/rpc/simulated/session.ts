import type { Clock, Timer } from '../../../base/clock.js'
import { LogicalError } from '../../../logical/errors.js'
import type { ReplicationTimes } from '../../types.js'
import type { Wire, WireMessage } from './wire.js'
import { WireCall } from './wire-call.js'

interface SessionOptions {
  readonly clock: Clock
  readonly times: Pick<ReplicationTimes, 'keepaliveTimeMs' | 'keepaliveTimeoutMs'>
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
  #lastHeardMs: number
  #timer: Timer

  constructor(wire: Wire, options: SessionOptions) {
    this.#wire = wire
    this.#options = options
    this.#lastHeardMs = options.clock.monotonic()
    this.#timer = this.#pingLater()
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
    if (message.is === 'ping') this.#wire.send({ is: 'pong' })
    else if (message.is === 'call') this.#options.onCall?.(message.method, this.#open(message.id))
    // A message that was under way when its call ended belongs to nobody.
    else if ('id' in message) this.#calls.get(message.id)?.take(message)
  }

  #pingLater(): Timer {
    const { clock, times } = this.#options
    return clock.setTimer(times.keepaliveTimeMs, () => {
      const askedMs = clock.monotonic()
      this.#wire.send({ is: 'ping' })
      this.#timer = clock.setTimer(times.keepaliveTimeoutMs, () => {
        if (this.#lastHeardMs >= askedMs) this.#timer = this.#pingLater()
        else this.close(new LogicalError('unavailable', 'the other side does not answer any more'))
      })
    })
  }

  #end(reason: LogicalError): void {
    if (this.#lost.signal.aborted) return
    this.#timer.cancel()
    this.#lost.abort(reason)
    for (const call of [...this.#calls.values()]) call.lose(reason)
  }
}
