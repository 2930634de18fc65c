import type { Clock } from '../../base/clock.js'
import type { EventDraft, LabEvent } from '../events/event.js'
import { Watch, type WatchedCluster } from '../keeper/watch.js'
import type { LabEvents } from '../live-lab.js'

/** Events of a lab that has no keeper: whoever listens hears them, and clusters are looked at while somebody does. */
export class LocalEvents implements LabEvents {
  readonly #lab: string
  readonly #clock: Clock
  readonly #clusters: () => readonly WatchedCluster[]
  readonly #listeners = new Set<(event: LabEvent) => void>()
  #watch: Watch | undefined
  #lastId = 0

  constructor(lab: string, clock: Clock, clusters: () => readonly WatchedCluster[]) {
    this.#lab = lab
    this.#clock = clock
    this.#clusters = clusters
  }

  async append(draft: EventDraft): Promise<void> {
    this.tell(draft)
  }

  tell(draft: EventDraft): void {
    const event = {
      ...draft,
      id: ++this.#lastId,
      time: new Date(this.#clock.now()).toISOString(),
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
