import type { Clock, Timer } from '../../base/clock.js'
import type { Log } from '../../base/log.js'

const INTERVAL_MS = 1000

interface RecoveryOptions {
  readonly clock: Clock
  readonly log: Log
  /** Rejects while what has failed cannot be mended. */
  readonly attempt: () => Promise<void>
}

/** Tries to mend a storage that has failed, once a second, until it succeeds or everything ends. */
export class Recovery {
  readonly #options: RecoveryOptions
  #timer: Timer | undefined
  #running: Promise<void> | undefined
  #isEnded = false

  constructor(options: RecoveryOptions) {
    this.#options = options
  }

  begin(): void {
    if (this.#isEnded) return
    this.#timer = this.#options.clock.setTimer(INTERVAL_MS, () => {
      this.#running = this.#try()
    })
  }

  /**
   * No attempt begins from now on. Resolves when none is under way: it may be opening the engine, which must not be open
   * again behind whoever closes it next.
   */
  async end(): Promise<void> {
    this.#isEnded = true
    this.#timer?.cancel()
    await this.#running
  }

  async #try(): Promise<void> {
    const { log, attempt } = this.#options
    try {
      await attempt()
    } catch (error) {
      log.warn('the storage cannot be opened again yet', { error })
      this.begin()
    }
  }
}
