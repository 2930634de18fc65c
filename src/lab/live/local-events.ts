import { EventEmitter, on } from 'node:events'
import type { Clock } from '../../base/clock.js'
import { type EventDraft, type LabEvent, timesOf } from '../events/event.js'
import type { LabDaemon } from '../daemon/lab-daemon.js'
import { Watch, type WatchedCluster } from '../daemon/watch.js'
import type { LabEvents, LabFaults } from './live-lab.js'

/**
 * The events of a lab without a daemon: sent to listeners, but not stored. Polls the clusters while there is a
 * listener. A `for await` loop receives all events since its start, in order. `end` ends all loops.
 */
export class LocalEvents implements LabEvents, AsyncIterable<LabEvent> {
  readonly #lab: string
  readonly #clock: Clock
  readonly #clusters: () => readonly WatchedCluster[]
  readonly #skewMs: () => number
  readonly #emitter = new EventEmitter().setMaxListeners(0)
  #watch: Watch | undefined
  #lastId = 0
  #hasEnded = false

  /** `skewMs`: clock skew of all clusters, in milliseconds. */
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
    if (this.#hasEnded) return iterate([], () => undefined)
    // Subscribes at once, so that the loop misses no event before its first iteration.
    const events = on(this.#emitter, 'event', { close: ['end'] })
    return iterate(
      events,
      this.subscribe(() => undefined),
    )
  }

  /** Ends all loops, and stops the polling. */
  end(): void {
    this.#hasEnded = true
    this.#emitter.emit('end')
    this.close()
  }

  /** Stops the polling until the next subscription. */
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

/** Returns the faults of a `LabDaemon` in this process. */
export const faultsOf = (daemon: LabDaemon): LabFaults => ({
  set: (request) => daemon.set(request),
  list: async () => daemon.active,
  heal: (ids) => daemon.heal(ids),
})
