import type { Clock } from './clock.js'

/** Background work that runs periodically until it is stopped, one run at a time. */
export class PeriodicWork {
  readonly #run: () => Promise<void>
  #running: Promise<void> | undefined
  #isStopped = false

  /** `run` must handle its own errors and never reject. */
  constructor(run: () => Promise<void>) {
    this.#run = run
  }

  /** True if the current run should stop early. */
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

  /** Starts a run. Returns false if a run is already in progress. */
  begin(): boolean {
    if (this.#running) return false
    this.#running = this.#run().finally(() => {
      this.#running = undefined
    })
    return true
  }

  /** Resolves when no run is in progress. */
  async settled(): Promise<void> {
    await this.#running
  }
}
