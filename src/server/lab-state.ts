import type { Clock } from '../base/clock.js'

/** What the lab endpoints have changed about this server; it lives as long as the process. */
export class LabState {
  readonly #clock: Clock
  #skewMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get skewMs(): number {
    return this.#skewMs
  }

  setSkew(ms: number): void {
    this.#skewMs = ms
  }

  now(): number {
    return this.#clock.now() + this.#skewMs
  }
}
