import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type { AnswerPlace } from '../logical/request.js'

/** Where an answer goes. An answer that waits behind others on its connection has no socket of its own yet. */
export interface AnswerSink {
  readonly response: {
    readonly closed: boolean
    readonly writableEnded: boolean
    once(event: 'close', listener: () => void): unknown
  }
  readonly socket: Pick<Socket, 'destroyed'> & Pick<EventEmitter, 'once' | 'off'> & { destroy(): unknown }
}

export interface PendingAnswer {
  readonly sink: AnswerSink
  readonly bytes: number
  readonly sinceMs: number
}

/** The part of the room that a place is a way through. */
interface Room extends Pick<AnswerPlace, 'turn' | 'expected' | 'note'> {
  tryEnter(bytes: number, sink: AnswerSink): PendingAnswer | undefined
  enter(bytes: number, sink: AnswerSink): Promise<PendingAnswer>
  takeTurn(sink: AnswerSink): Promise<void>
  release(pending: PendingAnswer): void
}

/** One answer's way through the room. Every request has one, and few of them need it: it costs one object. */
export class Place implements AnswerPlace {
  readonly #room: Room
  readonly #sink: AnswerSink
  #held: PendingAnswer | undefined

  constructor(room: Room, sink: AnswerSink) {
    this.#room = room
    this.#sink = sink
  }

  turn(): Promise<void> | undefined {
    return this.#room.turn()
  }

  tryEnter(bytes: number): boolean {
    this.#giveBack()
    this.#held = this.#room.tryEnter(bytes, this.#sink)
    return this.#held !== undefined
  }

  async enter(bytes: number): Promise<void> {
    this.#giveBack()
    this.#held = await this.#room.enter(bytes, this.#sink)
    // Many may have been let in at once.
    await this.#room.takeTurn(this.#sink)
  }

  expected(path: string): number | undefined {
    return this.#room.expected(path)
  }

  note(path: string, bytes: number | undefined): void {
    this.#room.note(path, bytes)
  }

  #giveBack(): void {
    if (this.#held) this.#room.release(this.#held)
    this.#held = undefined
  }
}
