import type { Clock, Timer } from '../base/clock.js'
import type { Log } from '../base/log.js'
import { pauseAfter } from './pause.js'
import { copyRemaining } from './purge.js'
import type { RuntimeHost } from './runtime-host.js'

export interface DestructionOptions {
  readonly host: Pick<RuntimeHost, 'replaceData'>
  readonly clock: Clock
  readonly log: Log
}

/**
 * Destroys deleted data by moving what is left to a new generation. An attempt that failed is repeated, after a pause that
 * grows; a crash is survived by the mark in the data, for which every new runtime asks again.
 */
export class Destruction {
  readonly #options: DestructionOptions
  #isRunning = false
  #isStopped = false
  #failures = 0
  #timer: Timer | undefined

  constructor(options: DestructionOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  /** Returns at once. Asking again replaces an attempt that has not begun. */
  schedule(): void {
    this.#timer?.cancel()
    if (this.#isStopped) return
    this.#timer = this.#options.clock.setTimer(pauseAfter(this.#failures), () => {
      this.#run().catch((error: unknown) => {
        if (this.#isStopped) return
        this.#failures++
        this.#options.log.error('held-back data was not destroyed yet', { error })
        // A runtime that is only being opened has asked, and will not ask again.
        this.schedule()
      })
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    try {
      await this.#options.host.replaceData('held-back data is destroyed', {
        rootKeyAfter: (before) => before,
        isSettledFirst: true,
        prepare: (fresh, old) => copyRemaining(old, fresh),
      })
      this.#failures = 0
    } finally {
      this.#isRunning = false
    }
  }
}
