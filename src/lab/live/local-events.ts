import type { Clock } from '../../base/clock.js'
import type { EventDraft, LabEvent } from '../events/event.js'
import type { LabEvents } from '../live-lab.js'

/** Events of a lab that nobody keeps: whoever listens hears them. */
export class LocalEvents implements LabEvents {
  readonly #lab: string
  readonly #clock: Clock
  readonly #listeners = new Set<(event: LabEvent) => void>()
  #lastId = 0

  constructor(lab: string, clock: Clock) {
    this.#lab = lab
    this.#clock = clock
  }

  async append(draft: EventDraft): Promise<void> {
    const event = {
      ...draft,
      id: ++this.#lastId,
      time: new Date(this.#clock.now()).toISOString(),
      lab: this.#lab,
    }
    for (const listener of this.#listeners) listener(event)
  }

  subscribe(listener: (event: LabEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}
