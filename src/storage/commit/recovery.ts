import type { Facilities } from '../../base/facilities.js'
import type { Timer } from '../../base/clock.js'

const INTERVAL_MS = 1000

interface RecoveryOptions extends Pick<Facilities, 'clock' | 'log'> {
  /** Tries to recover the storage. Rejects while the failure persists. */
  readonly attempt: () => Promise<void>
}

/** Retries the recovery of failed storage once per second until the recovery succeeds or the store closes. */
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
   * Stops further attempts. Resolves when no attempt is running, because an attempt must not open the engine again
   * after the owner of the engine has closed it.
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
      log.warn('cannot reopen the storage, trying again in one second', { error })
      this.begin()
    }
  }
}
