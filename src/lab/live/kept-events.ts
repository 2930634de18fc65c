import type { Clock } from '../../base/clock.js'
import type { LabRecord } from '../cluster.js'
import type { EventDraft, LabEvent } from '../events/event.js'
import { followEvents } from '../events/reading.js'
import { KeeperClient } from '../keeper/keeper-client.js'
import type { LabEvents } from '../live-lab.js'

/** Events of a lab whose keeper notes them. */
export class KeptEvents implements LabEvents {
  readonly #lab: LabRecord
  readonly #clock: Clock
  readonly #keeper: KeeperClient
  readonly #following = new Set<AbortController>()

  constructor(lab: LabRecord, clock: Clock) {
    this.#lab = lab
    this.#clock = clock
    this.#keeper = new KeeperClient(lab.keeper.socket)
  }

  append(draft: EventDraft): Promise<void> {
    return this.#keeper.tell(draft)
  }

  subscribe(listener: (event: LabEvent) => void): () => void {
    const stop = new AbortController()
    this.#following.add(stop)
    void this.#follow(listener, stop.signal)
    return () => {
      stop.abort()
      this.#following.delete(stop)
    }
  }

  close(): void {
    for (const stop of this.#following) stop.abort()
    this.#following.clear()
  }

  /** Follows from the last event that is there already: earlier ones are history, and are read as such. */
  async #follow(onEvent: (event: LabEvent) => void, signal: AbortSignal): Promise<void> {
    const past = await this.#keeper.events().catch(() => [])
    const onLost = () => undefined
    await followEvents(this.#lab, past.at(-1)?.id ?? 0, { clock: this.#clock, signal, onEvent, onLost })
  }
}
