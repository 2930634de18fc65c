import type { Wire, WireMessage } from './wire.js'

type Listeners = Parameters<Wire['listen']>[0]

/**
 * Messages that arrive at one end of a connection. They are queued until a listener is set; nothing follows the end.
 */
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

  /** Closes the inbox from this side, without a notification. Returns false if it was already closed. */
  shut(): boolean {
    const wasOpen = !this.#isClosed
    this.#isClosed = true
    return wasOpen
  }

  /** Closes the inbox from the other side. */
  end(): void {
    if (this.shut()) this.#listeners?.onClose()
  }

  /** Removes the listeners. */
  forget(): void {
    this.#isClosed = true
    this.#listeners = undefined
  }
}
