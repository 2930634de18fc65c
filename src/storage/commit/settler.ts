import type { Clock, Timer } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Engine } from '../engine/engine.js'

/** For so long at most a power loss may take along the memory of what was acknowledged. */
const DELAY_MS = 1000

interface SettlerOptions {
  readonly engine: Pick<Engine, 'acknowledged' | 'settleAcknowledged'>
  readonly clock: Clock
  readonly log: Log
}

/**
 * Sees to it that what was acknowledged is soon remembered, outside of the data, in a way that survives power loss: a second
 * after a commit, once for all that came meanwhile, and beside the commits, none of which waits for it.
 */
export class Settler {
  readonly #options: SettlerOptions
  #timer: Timer | undefined
  #running: Promise<void> = Promise.resolve()
  #isClosed = false
  /** The last revision that is known to be remembered. */
  #settled = 0

  constructor(options: SettlerOptions) {
    this.#options = options
  }

  /** To be called after every commit. */
  schedule(): void {
    if (this.#timer !== undefined || this.#isClosed) return
    this.#timer = this.#options.clock.setTimer(DELAY_MS, () => {
      this.#running = this.#settle().then(() => {
        this.#timer = undefined
        if (this.#isBehind) this.schedule()
      })
    })
  }

  /** Settles what is left. To be called when nothing is being committed any more. */
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
      log.warn('power loss would take along the memory of what was acknowledged', { error })
    }
  }
}
