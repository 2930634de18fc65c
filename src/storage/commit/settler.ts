import type { Facilities } from '../../base/facilities.js'
import type { Timer } from '../../base/clock.js'
import type { Engine } from '../engine/engine.js'

/** Maximum time until the acknowledged position survives a power loss. */
const DELAY_MS = 1000

interface SettlerOptions extends Pick<Facilities, 'clock' | 'log'> {
  readonly engine: Pick<Engine, 'acknowledged' | 'settleAcknowledged'>
}

/**
 * Persists the acknowledged position, outside of the data, so that it survives a power loss. Runs one second after a
 * commit, once for all commits in that time, and never delays a commit.
 */
export class Settler {
  readonly #options: SettlerOptions
  #timer: Timer | undefined
  #running: Promise<void> = Promise.resolve()
  #isClosed = false
  /** The last revision that is known to be persisted. */
  #settled = 0

  constructor(options: SettlerOptions) {
    this.#options = options
  }

  /** Schedules the next persist. Must be called after every commit. */
  schedule(): void {
    if (this.#timer !== undefined || this.#isClosed) return
    this.#timer = this.#options.clock.setTimer(DELAY_MS, () => {
      this.#running = this.#settle().then(() => {
        this.#timer = undefined
        if (this.#isBehind) this.schedule()
      })
    })
  }

  /** Persists the rest. Must be called after the last commit. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    await this.#running
    await this.#settle()
  }

  get #isBehind(): boolean {
    return (this.#options.engine.acknowledged?.revision ?? 0) > this.#settled
  }

  async #settle(): Promise<void> {
    if (!this.#isBehind) return
    const { engine, log } = this.#options
    const revision = engine.acknowledged?.revision ?? 0
    try {
      await engine.settleAcknowledged()
      this.#settled = revision
    } catch (error) {
      log.warn('the acknowledged position could not be synced: a power loss may lose it', { error })
    }
  }
}
