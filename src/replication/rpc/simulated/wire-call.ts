import { LogicalError } from '../../../logical/errors.js'
import { LIMITS } from '../../../base/limits.js'
import type { CarriedRefusal } from '../refusal.js'
import type { WireMessage } from './wire.js'

/** Flow-control window in bytes for each direction of a call. Beyond it, the sender waits for the receiver. */
const WINDOW_BYTES = 1024 * 1024

/** How a call ended: successfully, with a refusal, or because the connection was lost. */
export type CallEnd = { readonly refusal?: CarriedRefusal } | { readonly lost: LogicalError }

/** One end of a call: ordered messages with flow control. A call ends only once. */
export class WireCall {
  readonly #id: number
  readonly #send: (message: WireMessage) => void
  readonly #onGone: () => void
  readonly #unsent: { readonly payload: Buffer; readonly done: () => void }[] = []
  readonly #unread: Buffer[] = []
  #credit = WINDOW_BYTES
  #isPaused = false
  #ownEnd: WireMessage | undefined
  #end: CallEnd | undefined
  #isEnded = false
  #onData: ((payload: Buffer) => void) | undefined
  #onEnd: ((end: CallEnd) => void) | undefined

  constructor(id: number, send: (message: WireMessage) => void, onGone: () => void) {
    this.#id = id
    this.#send = send
    this.#onGone = onGone
  }

  /**
   * Writes a message, and calls `done` when it fits into the flow-control window. Throws `LogicalError` if the message
   * exceeds the maximum size.
   */
  write(payload: Buffer, done: () => void = () => undefined): void {
    if (payload.length > LIMITS.rpcMessageBytesMax)
      throw new LogicalError(
        'unavailable',
        `cannot send ${payload.length} bytes: the message is larger than ${LIMITS.rpcMessageBytesMax} bytes`,
      )
    if (this.#isEnded || this.#ownEnd) done()
    else this.#unsent.push({ payload, done })
    this.#flush()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#read()
  }

  listen(onData: (payload: Buffer) => void): void {
    this.#onData = onData
    this.#read()
  }

  /** Calls the listener once: after all received messages were read, or immediately if the connection is lost. */
  onEnd(listener: (end: CallEnd) => void): void {
    this.#onEnd = listener
    this.#read()
  }

  /** Ends the call on the responding side, after all its messages are sent. */
  end(refusal?: CarriedRefusal): void {
    this.#ownEnd ??= { is: 'end', id: this.#id, ...(refusal && { refusal }) }
    this.#flush()
  }

  /** Cancels the call on the calling side. Further messages are ignored. */
  cancel(): void {
    if (this.#isEnded) return
    this.#send({ is: 'cancel', id: this.#id })
    this.#finish({ lost: new LogicalError('unavailable', 'the call was canceled') })
  }

  lose(reason: LogicalError): void {
    if (this.#isEnded) return
    this.#finish({ lost: reason })
  }

  take(message: WireMessage): void {
    if (this.#isEnded) return
    if (message.is === 'cancel') this.lose(new LogicalError('unavailable', 'the caller disconnected'))
    else if (message.is === 'data') this.#unread.push(message.payload)
    else if (message.is === 'credit') this.#credit += message.bytes
    else if (message.is === 'end') this.#end = message.refusal ? { refusal: message.refusal } : {}
    this.#flush()
    this.#read()
  }

  #flush(): void {
    while (this.#credit > 0 && !this.#isEnded) {
      const next = this.#unsent.shift()
      if (!next) break
      this.#credit -= next.payload.length
      this.#send({ is: 'data', id: this.#id, payload: next.payload })
      next.done()
    }
    if (this.#unsent.length > 0 || !this.#ownEnd || this.#isEnded) return
    this.#send(this.#ownEnd)
    this.#finish({})
  }

  #read(): void {
    while (this.#onData && !this.#isPaused && !this.#isEnded) {
      const payload = this.#unread.shift()
      if (payload === undefined) break
      this.#send({ is: 'credit', id: this.#id, bytes: payload.length })
      this.#onData(payload)
    }
    if (this.#end && this.#onEnd && this.#unread.length === 0) this.#finish(this.#end)
  }

  #finish(end: CallEnd): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#unread.length = 0
    for (const { done } of this.#unsent.splice(0)) done()
    this.#onGone()
    this.#onEnd?.(end)
  }
}
