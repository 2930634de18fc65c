import { LogicalError } from '../../logical/errors.js'

/** The common methods of a gRPC duplex call on client and server. */
interface DuplexCall<Out, In> {
  write(message: Out, done: (error?: Error | null) => void): boolean
  pause(): unknown
  resume(): unknown
  on(event: 'data', listener: (message: In) => void): unknown
}

/** Maximum number of unread messages. If it is reached, the stream pauses the sender. */
const QUEUED_MESSAGES_MAX = 16
/** Maximum bytes that are written but not sent. Beyond it, `send` waits. */
const UNSENT_BYTES_MAX = 2 * 1024 * 1024

/**
 * Wraps a duplex call: a queue of received messages, and a limited send buffer. Both directions apply backpressure, so
 * a peer or a reader that stops reading does not increase memory use. The stream ends once, for one reason.
 */
export class MessageStream<Out, In> {
  readonly #call: DuplexCall<Out, In>
  readonly #abort = new AbortController()
  readonly #finish: (error: unknown) => void
  #received: In[] = []
  #isPaused = false
  #unsentBytes = 0
  readonly #waiters = new Set<() => void>()

  /** Wraps a call. `finish` ends the call: successfully if its argument is undefined, otherwise with this error. */
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

  /** Aborted when the stream has ended. The reason is a `LogicalError`. */
  get ended(): AbortSignal {
    return this.#abort.signal
  }

  /**
   * Sends a message of approximately `bytes`. Resolves when the send buffer has space for more. Rejects when the stream
   * has ended.
   */
  async send(message: Out, bytes = 0): Promise<void> {
    this.#abort.signal.throwIfAborted()
    this.#unsentBytes += bytes
    this.#call.write(message, () => {
      this.#unsentBytes -= bytes
      this.#wake()
    })
    while (this.#unsentBytes > UNSENT_BYTES_MAX) await this.#changed()
  }

  /**
   * Resolves to all messages since the last call, at least one. Rejects when the stream has ended and all messages were
   * read.
   */
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

  /** Ends the stream from this side. Local callers get `error` as the reason. A server also sends it to the peer. */
  end(error?: LogicalError): void {
    if (this.#abort.signal.aborted) return
    this.markEnded(error ?? new LogicalError('unavailable', 'the stream was ended'))
    this.#finish(error)
  }

  /** Ends the stream when `work` is complete or has failed. */
  endAfter(work: Promise<void>): void {
    work.then(
      () => this.end(),
      (error: unknown) =>
        this.end(error instanceof LogicalError ? error : new LogicalError('internal', String(error), { cause: error })),
    )
  }

  /** Records the end of the call. Only the first reason counts. Earlier messages can still be read. */
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
