import { EventEmitter, on } from 'node:events'
import type { LabEvent } from '../events/event.js'
import type { LocalEvents } from '../live/local-events.js'

/**
 * The events of a lab, for `for await`. Each loop receives all events from its start, in order, until it ends or the lab is
 * closed. During a loop, the clusters are polled for changes of role, state and seal.
 */
export class EventStream implements AsyncIterable<LabEvent> {
  readonly #source: LocalEvents
  readonly #open = new Set<EventEmitter>()
  #isClosed = false

  constructor(source: LocalEvents) {
    this.#source = source
  }

  [Symbol.asyncIterator](): AsyncGenerator<LabEvent, void> {
    if (this.#isClosed) return nothing()
    const emitter = new EventEmitter()
    const unsubscribe = this.#source.subscribe((event) => emitter.emit('event', event))
    this.#open.add(emitter)
    // Listens from now on, not from the first iteration.
    const events = on(emitter, 'event', { close: ['close'] })
    const end = () => {
      unsubscribe()
      this.#open.delete(emitter)
    }
    emitter.once('close', end)
    return iterate(events, end)
  }

  /** Ends all loops over it. */
  close(): void {
    this.#isClosed = true
    for (const emitter of [...this.#open]) emitter.emit('close')
  }
}

async function* nothing(): AsyncGenerator<LabEvent, void> {}

async function* iterate(events: AsyncIterable<unknown[]>, end: () => void): AsyncGenerator<LabEvent, void> {
  try {
    for await (const [event] of events) yield event as LabEvent
  } finally {
    end()
  }
}
