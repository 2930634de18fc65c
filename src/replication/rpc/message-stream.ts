import { LogicalError } from '../../logical/errors.js'

/** The parts of a gRPC duplex call that both sides have in common. */
interface DuplexCall<Out, In> {
  write(message: Out, done: (error?: Error | null) => void): boolean
  pause(): unknown
  resume(): unknown
  on(event: 'data', listener: (message: In) => void): unknown
}

/** Messages received and not yet taken; beyond them the other side is made to wait. */
const QUEUED_MESSAGES_MAX = 16
/** Bytes handed to the connection and not yet taken by it; beyond them the sender is made to wait. */
const UNSENT_BYTES_MAX = 2 * 1024 * 1024

/**
 * A duplex call as a queue of received messages and a bounded way to send. Both directions push back: nothing here grows
 * with a peer that does not read or a reader that does not take. It ends once, for one reason.
 */
export class MessageStream<Out, In> {
  readonly #call: DuplexCall<Out, In>
  readonly #abort = new AbortController()
  readonly #finish: (error: unknown) => void
  #received: In[] = []
  #isPaused = false
  #unsentBytes = 0
  readonly #waiters = new Set<() => void>()

  /** `finish` ends the call itself: normally (undefined) or with an error to be sent or thrown away. */
  constructor(call: DuplexCall<Out, In>, finish: (error: unknown) => void) {
    this.#call = call
    this.#finish = finish
    call.on('data', (message) => {
      if (this.#abort.signal.aborted) return
      this.#received.push(message)
      if (this.#received.length >= QUEUED_MESSAGES_MAX && !this.#isPaused) {
        this.#isPaused = true
        call.pause()
      }
      this.#wake()
    })
  }

  /** Aborted when the stream has ended, with the reason: a LogicalError. */
  get ended(): AbortSignal {
    return this.#abort.signal
  }

  /** Resolves when there is room for more; `bytes` is roughly the message's size. Rejects when the stream has ended. */
  async send(message: Out, bytes = 0): Promise<void> {
    this.#abort.signal.throwIfAborted()
    this.#unsentBytes += bytes
    this.#call.write(message, () => {
      this.#unsentBytes -= bytes
      this.#wake()
    })
    while (this.#unsentBytes > UNSENT_BYTES_MAX) await this.#changed()
  }

  /** All messages received since the last call, at least one. Rejects when the stream has ended and none is left. */
  async receive(): Promise<In[]> {
    while (this.#received.length === 0) await this.#changed()
    const taken = this.#received
    this.#received = []
    if (this.#isPaused) {
      this.#isPaused = false
      this.#call.resume()
    }
    return taken
  }

  /** Ends the stream from this side; with an error the peer, or the caller here, is told why. */
  end(error?: LogicalError): void {
    if (this.#abort.signal.aborted) return
    this.markEnded(error ?? new LogicalError('unavailable', 'the stream was ended'))
    this.#finish(error)
  }

  /** Ends the stream when the work on it is done, or has failed. */
  endAfter(work: Promise<void>): void {
    work.then(
      () => this.end(),
      (error: unknown) =>
        this.end(error instanceof LogicalError ? error : new LogicalError('internal', String(error), { cause: error })),
    )
  }

  /** The call itself has ended. Only the first reason counts; what was received before it can still be taken. */
  markEnded(reason: LogicalError): void {
    if (this.#abort.signal.aborted) return
    this.#abort.abort(reason)
    this.#wake()
  }

  async #changed(): Promise<void> {
    this.#abort.signal.throwIfAborted()
    await new Promise<void>((resolve) => this.#waiters.add(resolve))
  }

  #wake(): void {
    for (const resolve of this.#waiters) resolve()
    this.#waiters.clear()
  }
}
