import type { CarriedRefusal } from '../refusal.js'

/** The messages of a connection: first who both are, then calls by number, each with messages both ways and one end. */
export type WireMessage =
  | { readonly is: 'hello'; readonly serverName: string; readonly certificate: string }
  | { readonly is: 'welcome'; readonly certificate: string }
  | { readonly is: 'call'; readonly id: number; readonly method: string }
  | { readonly is: 'data'; readonly id: number; readonly payload: Buffer }
  /** The receiver has taken so many bytes of what was sent. */
  | { readonly is: 'credit'; readonly id: number; readonly bytes: number }
  /** The answering side is done: well, or with a refusal. */
  | { readonly is: 'end'; readonly id: number; readonly refusal?: CarriedRefusal }
  /** The calling side wants no more. */
  | { readonly is: 'cancel'; readonly id: number }
  | { readonly is: 'ping' | 'pong' }

/** One end of a connection. What is sent arrives in order or not at all; once it is closed nothing does. */
export interface Wire {
  send(message: WireMessage): void
  /** Both are told once the connection is made, and of nothing before. */
  listen(listeners: { readonly onMessage: (message: WireMessage) => void; readonly onClose: () => void }): void
  /** The other end is told, unless the network keeps it from it. */
  close(): void
}

/** Carries messages between the clusters of a process. */
export interface MessageNetwork {
  /** The address really bound: port 0 is replaced. Throws when it is taken. */
  listen(address: string, onWire: (wire: Wire) => void): { readonly address: string; close(): void }
  /** Resolves when connected. Rejects when nobody listens there, or with the reason of the signal. */
  dial(address: string, signal: AbortSignal): Promise<Wire>
}
