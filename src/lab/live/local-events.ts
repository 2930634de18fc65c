import type { Clock } from '../../base/clock.js'
import { type EventDraft, type LabEvent, timesOf } from '../events/event.js'
import type { LabDaemon } from '../daemon/lab-daemon.js'
import { Watch, type WatchedCluster } from '../daemon/watch.js'
import type { LabEvents, LabFaults } from './live-lab.js'

/** Events of a lab without a daemon: sent to listeners only. Clusters are polled while there is a listener. */
export class LocalEvents implements LabEvents {
  readonly #lab: string
  readonly #clock: Clock
  readonly #clusters: () => readonly WatchedCluster[]
  readonly #skewMs: () => number
  readonly #listeners = new Set<(event: LabEvent) => void>()
  #watch: Watch | undefined
  #lastId = 0

  /** `skewMs` applies to all clusters. */
  constructor(lab: string, clock: Clock, clusters: () => readonly WatchedCluster[], skewMs: () => number = () => 0) {
    this.#lab = lab
    this.#clock = clock
    this.#clusters = clusters
    this.#skewMs = skewMs
  }

  async append(draft: EventDraft): Promise<void> {
    this.tell(draft)
  }

  tell(draft: EventDraft): void {
    const event = {
      ...draft,
      id: ++this.#lastId,
      ...timesOf(this.#clock.now(), this.#skewMs()),
      lab: this.#lab,
    }
    for (const listener of [...this.#listeners]) listener(event)
  }

  subscribe(listener: (event: LabEvent) => void): () => void {
    this.#listeners.add(listener)
    if (!this.#watch) {
      this.#watch = new Watch({ clusters: this.#clusters(), clock: this.#clock, tell: (draft) => this.tell(draft) })
      this.#watch.start()
    }
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.close()
    }
  }

  close(): void {
    this.#watch?.close()
    this.#watch = undefined
  }
}

/** Returns the faults that a daemon of this process owns. */
export const faultsOf = (daemon: LabDaemon): LabFaults => ({
  set: (request) => daemon.set(request),
  list: async () => daemon.active,
  heal: (ids) => daemon.heal(ids),
})
