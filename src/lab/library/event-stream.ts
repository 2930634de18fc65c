import { EventEmitter, on } from 'node:events'
import type { LabEvent } from '../events/event.js'
import type { LocalEvents } from '../live/local-events.js'

/**
 * The events of a lab, for `for await`. Whoever iterates gets every event from then on, in order, until it breaks off
 * or the lab is closed; meanwhile the clusters are looked at for changes of role, state and seal.
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
    // Listens from here on, not from the first step of the loop.
    const events = on(emitter, 'event', { close: ['close'] })
    const end = () => {
      unsubscribe()
      this.#open.delete(emitter)
    }
    emitter.once('close', end)
    return iterate(events, end)
  }

  /** Ends every loop over it. */
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
