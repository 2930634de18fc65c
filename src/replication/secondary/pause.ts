import type { Clock } from '../../base/clock.js'

/** A wait that can be ended early. */
export class Pause {
  readonly #clock: Clock
  #end: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.#clock.setTimer(ms, resolve)
      this.#end = () => {
        timer.cancel()
        resolve()
      }
    })
    this.#end = undefined
  }

  end(): void {
    this.#end?.()
  }
}
