import type { CarriedRefusal } from '../refusal.js'

/**
 * The messages of a simulated connection: first the identities of both sides, then numbered calls. Each call has
 * messages in both directions, and one end.
 */
export type WireMessage =
  | { readonly is: 'hello'; readonly serverName: string; readonly certificate: string }
  | { readonly is: 'welcome'; readonly certificate: string }
  | { readonly is: 'call'; readonly id: number; readonly method: string }
  | { readonly is: 'data'; readonly id: number; readonly payload: Buffer }
  /** The receiver has read this many bytes. */
  | { readonly is: 'credit'; readonly id: number; readonly bytes: number }
  /** The responding side has ended the call, successfully or with a refusal. */
  | { readonly is: 'end'; readonly id: number; readonly refusal?: CarriedRefusal }
  /** The calling side has canceled the call. */
  | { readonly is: 'cancel'; readonly id: number }
  | { readonly is: 'ping' | 'pong' }

/**
 * One end of a simulated connection. Messages arrive in order, or not at all. None arrives after the connection is
 * closed.
 */
export interface Wire {
  send(message: WireMessage): void
  /** Sets the listeners, and delivers messages that have already arrived. */
  listen(listeners: { readonly onMessage: (message: WireMessage) => void; readonly onClose: () => void }): void
  /** Closes the connection. The other end is notified unless the network is interrupted. */
  close(): void
}

/** Transports messages between the clusters of a process. */
export interface MessageNetwork {
  /** Binds an address and returns it, with port 0 replaced by a free port. Throws if the address is in use. */
  listen(address: string, onWire: (wire: Wire) => void): { readonly address: string; close(): void }
  /** Connects to an address. Rejects if no listener is bound to it, or with the signal's reason. */
  dial(address: string, signal: AbortSignal): Promise<Wire>
}

type Listeners = Parameters<Wire['listen']>[0]

/**
 * Delivers messages to the listener of one end of a connection. Queues them until there is a listener. Drops messages
 * after the end.
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

  /** Closes the inbox without notifying the listener. Returns false if it was already closed. */
  shut(): boolean {
    const wasOpen = !this.#isClosed
    this.#isClosed = true
    return wasOpen
  }

  /** Closes the inbox and notifies the listener. */
  end(): void {
    if (this.shut()) this.#listeners?.onClose()
  }

  /** Closes the inbox and removes the listener. */
  forget(): void {
    this.#isClosed = true
    this.#listeners = undefined
  }
}
