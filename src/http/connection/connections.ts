import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../base/clock.js'
import type { MessageGate } from './message-gate.js'

interface Connection {
  readonly gate: MessageGate
  /** The number of messages begun at the last check, and the time since when that number has not changed. */
  begun: number
  sinceMs: number
}

const SWEEP_MS = 1000

/**
 * The open connections of one listener. Node's server times out connections that are sending a message. This class times out
 * idle connections, since Node does not know about messages in the fast lane.
 */
export class Connections {
  readonly #clock: Clock
  readonly #open = new Map<Socket, Connection>()
  #sweep: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(socket: Socket, gate: MessageGate): void {
    this.#open.set(socket, { gate, begun: 0, sinceMs: 0 })
    socket.once('close', () => this.#open.delete(socket))
  }

  gateOf(socket: Socket): MessageGate | undefined {
    return this.#open.get(socket)?.gate
  }

  /** Closes connections idle for `idleMs`, at most two seconds late. With 0, closes none. */
  watch(idleMs: number): void {
    if (idleMs === 0) return
    this.#sweep = this.#clock.setRepeating(SWEEP_MS, () => this.#endOverdue(idleMs))
  }

  endIdle(): void {
    for (const [socket, { gate }] of this.#open) if (gate.isIdle) socket.destroy()
  }

  /** Closes every connection, immediately or after pending data has been sent. */
  close(isAtOnce: boolean): void {
    this.#sweep?.cancel()
    for (const socket of this.#open.keys()) {
      if (isAtOnce) socket.destroy()
      else socket.destroySoon()
    }
  }

  #endOverdue(idleMs: number): void {
    const nowMs = this.#clock.monotonic()
    for (const [socket, connection] of this.#open) {
      const { isIdle, begun } = connection.gate
      if (!isIdle || begun !== connection.begun) {
        connection.begun = isIdle ? begun : 0
        connection.sinceMs = nowMs
      } else if (nowMs - connection.sinceMs >= idleMs) socket.destroy()
    }
  }
}
