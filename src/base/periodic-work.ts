import type { Clock } from './clock.js'

/** Work in the background that is done from time to time, until it is stopped: one run at a time. */
export class PeriodicWork {
  readonly #run: () => Promise<void>
  #running: Promise<void> | undefined
  #isStopped = false

  /** `run` says itself what has failed: it never rejects. */
  constructor(run: () => Promise<void>) {
    this.#run = run
  }

  /** A run that is under way is to come to its end. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  start(clock: Clock, intervalMs: number, signal: AbortSignal): void {
    const timer = clock.setRepeating(intervalMs, () => void this.begin())
    signal.addEventListener('abort', () => {
      this.#isStopped = true
      timer.cancel()
    })
  }

  /** Begins a run; false when there is one already. */
  begin(): boolean {
    if (this.#running) return false
    this.#running = this.#run().finally(() => {
      this.#running = undefined
    })
    return true
  }

  /** Resolves when no run is under way. */
  async settled(): Promise<void> {
    await this.#running
  }
}
