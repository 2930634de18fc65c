import { LogicalError } from '../../logical/errors.js'

interface Waiting {
  readonly bytes: number
  readonly take: () => void
}

interface ByteBudgetOptions {
  readonly bytesMax: number
  readonly waitingMax: number
  /** The error text if too many reservations wait. */
  readonly refusal: string
  /** Called after each change. `hasAdmitted` is true if the change admitted a reservation that had waited. */
  readonly onChange: (hasAdmitted: boolean) => void
}

/**
 * A memory budget in bytes. Reservations are admitted in FIFO order, so that small reservations cannot starve a large
 * one. A reservation that exceeds the whole budget is admitted while there is no other reservation.
 */
export class ByteBudget {
  readonly #options: ByteBudgetOptions
  readonly #waiting = new Set<Waiting>()
  #bytes = 0

  constructor(options: ByteBudgetOptions) {
    this.#options = options
  }

  get isAwaited(): boolean {
    return this.#waiting.size > 0
  }

  /** Reserves bytes and returns true, unless they do not fit or other reservations wait. */
  tryTake(bytes: number): boolean {
    if (this.isAwaited || !this.#fits(bytes)) return false
    this.#bytes += bytes
    return true
  }

  /**
   * Reserves bytes. Calls `onTaken` when the bytes are reserved, and resolves to its result. `whenGone` receives a
   * function that cancels the wait, after which `take` rejects with the reason. Rejects with LogicalError 503 if too
   * many reservations wait.
   */
  take<T>(bytes: number, onTaken: () => T, whenGone: (leave: (reason: unknown) => void) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size >= this.#options.waitingMax) {
        reject(new LogicalError('unavailable', this.#options.refusal))
        return
      }
      const waiting: Waiting = { bytes, take: () => resolve(onTaken()) }
      this.#waiting.add(waiting)
      whenGone((reason) => {
        if (!this.#waiting.delete(waiting)) return
        reject(reason)
        this.#admit()
      })
      this.#admit()
    })
  }

  release(bytes: number): void {
    this.#bytes -= bytes
    this.#admit()
  }

  #fits(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= this.#options.bytesMax
  }

  #admit(): void {
    let hasAdmitted = false
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.bytes)) break
      this.#waiting.delete(waiting)
      this.#bytes += waiting.bytes
      hasAdmitted = true
      waiting.take()
    }
    this.#options.onChange(hasAdmitted)
  }
}
