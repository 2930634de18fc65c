import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type { AnswerPlace } from '../../logical/request.js'

/** Where a response is written. A response queued behind others on its connection has no socket yet. */
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

/** The part of the response budget that a `Place` uses. */
interface Room extends Pick<AnswerPlace, 'turn' | 'expected' | 'note'> {
  tryEnter(bytes: number, sink: AnswerSink): PendingAnswer | undefined
  enter(bytes: number, sink: AnswerSink): Promise<PendingAnswer>
  takeTurn(sink: AnswerSink): Promise<void>
  release(pending: PendingAnswer): void
}

/** One response's access to the response budget. Every request has one and few use it, so it costs a single object. */
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
    // Several responses may have been admitted at the same time.
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
