import type { Clock } from '../../base/clock.js'
import type { SealKeys } from './seal-keys.js'

/** The time in ms for which a result is valid, because a check calls the service of the seal. */
const VALID_MS = 10_000

/** Whether the seal works, and since when it does not. */
export class SealHealth {
  readonly #keys: Pick<SealKeys, 'isWorking'>
  readonly #clock: Clock
  #last: { readonly atMs: number; readonly isHealthy: Promise<boolean> } | undefined
  #unhealthySinceMs: number | undefined

  constructor(keys: Pick<SealKeys, 'isWorking'>, clock: Clock) {
    this.#keys = keys
    this.#clock = clock
  }

  /** Returns the start of the failure in milliseconds since the epoch; undefined if the seal works. */
  async unhealthySinceMs(): Promise<number | undefined> {
    const now = this.#clock.now()
    if (!this.#last || now - this.#last.atMs >= VALID_MS) this.#last = { atMs: now, isHealthy: this.#keys.isWorking() }
    const { atMs, isHealthy } = this.#last
    this.#unhealthySinceMs = (await isHealthy) ? undefined : (this.#unhealthySinceMs ?? atMs)
    return this.#unhealthySinceMs
  }
}
