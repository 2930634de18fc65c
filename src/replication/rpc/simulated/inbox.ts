import type { Wire, WireMessage } from './wire.js'

type Listeners = Parameters<Wire['listen']>[0]

/** What arrives at one end of a connection: kept until somebody listens, and nothing after the end. */
export class Inbox {
  readonly #early: WireMessage[] = []
  #listeners: Listeners | undefined
  #isClosed = false

  get isClosed(): boolean {
    return this.#isClosed
  }

  listen(listeners: Listeners): void {
    this.#listeners = listeners
    for (const message of this.#early.splice(0)) listeners.onMessage(message)
    if (this.#isClosed) listeners.onClose()
  }

  take(message: WireMessage): void {
    if (this.#isClosed) return
    if (this.#listeners) this.#listeners.onMessage(message)
    else this.#early.push(message)
  }

  /** Closed from this side, which needs not be told of it. False when it was closed already. */
  shut(): boolean {
    const wasOpen = !this.#isClosed
    this.#isClosed = true
    return wasOpen
  }

  /** Closed from the other side. */
  end(): void {
    if (this.shut()) this.#listeners?.onClose()
  }

  /** Nobody is here any more. */
  forget(): void {
    this.#isClosed = true
    this.#listeners = undefined
  }
}
