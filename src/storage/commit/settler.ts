import type { Facilities } from '../../base/facilities.js'
import type { Timer } from '../../base/clock.js'
import type { Engine } from '../engine/engine.js'

/** Delay in milliseconds between a commit and the sync of the acknowledged position. */
const DELAY_MS = 1000

interface SettlerOptions extends Pick<Facilities, 'clock' | 'log'> {
  readonly engine: Pick<Engine, 'acknowledged' | 'settleAcknowledged'>
}

/**
 * Syncs the file with the acknowledged position, so that the position survives a power loss. One sync covers all
 * commits of one second. The sync runs in the background and never delays a commit.
 */
export class Settler {
  readonly #options: SettlerOptions
  #timer: Timer | undefined
  #running: Promise<void> = Promise.resolve()
  #isClosed = false
  /** The last revision that is known to survive a power loss. */
  #settled = 0

  constructor(options: SettlerOptions) {
    this.#options = options
  }

  /** Schedules the next sync. Must be called after every commit. */
  schedule(): void {
    if (this.#timer !== undefined || this.#isClosed) return
    this.#timer = this.#options.clock.setTimer(DELAY_MS, () => {
      this.#running = this.#settle().then(() => {
        this.#timer = undefined
        if (this.#isBehind) this.schedule()
      })
    })
  }

  /** Syncs a position that is not yet synced. Must be called after the last commit. */
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
      log.warn('cannot sync the acknowledged position: after a power loss, lost commits may go unnoticed', { error })
    }
  }
}
