import type { CarriedRefusal } from '../refusal.js'

/**
 * The messages of a connection: first the identities, then numbered calls, each with messages in both directions and
 * one end.
 */
export type WireMessage =
  | { readonly is: 'hello'; readonly serverName: string; readonly certificate: string }
  | { readonly is: 'welcome'; readonly certificate: string }
  | { readonly is: 'call'; readonly id: number; readonly method: string }
  | { readonly is: 'data'; readonly id: number; readonly payload: Buffer }
  /** The receiver has read this many bytes. */
  | { readonly is: 'credit'; readonly id: number; readonly bytes: number }
  /** The answering side has ended the call: successfully, or with a refusal. */
  | { readonly is: 'end'; readonly id: number; readonly refusal?: CarriedRefusal }
  /** The calling side has canceled the call. */
  | { readonly is: 'cancel'; readonly id: number }
  | { readonly is: 'ping' | 'pong' }

/** One end of a connection. Messages arrive in order or not at all, and none arrive after it is closed. */
export interface Wire {
  send(message: WireMessage): void
  /** Both listeners are active once the connection is established. Earlier events are not reported. */
  listen(listeners: { readonly onMessage: (message: WireMessage) => void; readonly onClose: () => void }): void
  /** Closes the connection. The other end is notified, unless the network is interrupted. */
  close(): void
}

/** Transports messages between the clusters of a process. */
export interface MessageNetwork {
  /** Returns the bound address: port 0 is replaced. Throws if the address is in use. */
  listen(address: string, onWire: (wire: Wire) => void): { readonly address: string; close(): void }
  /** Resolves when connected. Rejects if the address has no listener, or with the signal's reason. */
  dial(address: string, signal: AbortSignal): Promise<Wire>
}

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
