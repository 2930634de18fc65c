import { EventEmitter, on } from 'node:events'
import type { Clock } from '../../base/clock.js'
import { type EventDraft, type LabEvent, timesOf } from '../events/event.js'
import type { LabDaemon } from '../daemon/lab-daemon.js'
import { Watch, type WatchedCluster } from '../daemon/watch.js'
import type { LabEvents, LabFaults } from './live-lab.js'

/**
 * Events of a lab without a daemon: sent to listeners only. Clusters are polled while there is a listener. A `for await` loop
 * receives all events from its start, in order, until it ends or `end` is called.
 */
export class LocalEvents implements LabEvents, AsyncIterable<LabEvent> {
  readonly #lab: string
  readonly #clock: Clock
  readonly #clusters: () => readonly WatchedCluster[]
  readonly #skewMs: () => number
  readonly #emitter = new EventEmitter().setMaxListeners(0)
  #watch: Watch | undefined
  #lastId = 0
  #isOver = false

  /** `skewMs` applies to all clusters. */
  constructor(lab: string, clock: Clock, clusters: () => readonly WatchedCluster[], skewMs: () => number = () => 0) {
    this.#lab = lab
    this.#clock = clock
    this.#clusters = clusters
    this.#skewMs = skewMs
  }

  async append(draft: EventDraft): Promise<void> {
    this.emit(draft)
  }

  emit(draft: EventDraft): void {
    const event = {
      ...draft,
      id: ++this.#lastId,
      ...timesOf(this.#clock.now(), this.#skewMs()),
      lab: this.#lab,
    }
    this.#emitter.emit('event', event)
  }

  subscribe(listener: (event: LabEvent) => void): () => void {
    this.#emitter.on('event', listener)
    if (!this.#watch) {
      this.#watch = new Watch({ clusters: this.#clusters(), clock: this.#clock, emit: (draft) => this.emit(draft) })
      this.#watch.start()
    }
    return () => {
      this.#emitter.off('event', listener)
      if (this.#emitter.listenerCount('event') === 0) this.close()
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<LabEvent, void> {
    if (this.#isOver) return iterate([], () => undefined)
    // Listens from now on, not from the first iteration.
    const events = on(this.#emitter, 'event', { close: ['over'] })
    return iterate(
      events,
      this.subscribe(() => undefined),
    )
  }

  /** Ends all loops, and the polling. */
  end(): void {
    this.#isOver = true
    this.#emitter.emit('over')
    this.close()
  }

  close(): void {
    this.#watch?.close()
    this.#watch = undefined
  }
}

async function* iterate(
  events: AsyncIterable<unknown[]> | Iterable<unknown[]>,
  unsubscribe: () => void,
): AsyncGenerator<LabEvent, void> {
  try {
    for await (const [event] of events) yield event as LabEvent
  } finally {
    unsubscribe()
  }
}

/** Returns the faults that a daemon of this process owns. */
export const faultsOf = (daemon: LabDaemon): LabFaults => ({
  set: (request) => daemon.set(request),
  list: async () => daemon.active,
  heal: (ids) => daemon.heal(ids),
})
