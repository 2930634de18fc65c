import type { Passage } from './direction.js'
import { arePartial, type Faults, faultsFor } from './link-faults.js'

/** One direction of a link, shared by its connections, which check it before forwarding anything. */
export class LinkDirection {
  #passage: Passage = 'open'
  #faults: Faults = {}
  #arePartial = false
  #isClear = true
  #waiting: (() => void)[] = []
  #passedBytes = 0

  get passage(): Passage {
    return this.#passage
  }

  get faults(): Faults {
    return this.#faults
  }

  /** Whether this direction forwards all data immediately and unchanged. */
  get isClear(): boolean {
    return this.#isClear
  }

  /** Returns the faults of one connection. `lot` draws its random number, and is called only if needed. */
  faultsFor(lot: () => number): Faults {
    return this.#arePartial ? faultsFor(this.#faults, lot()) : this.#faults
  }

  /** The bytes forwarded in this direction so far, over all connections. */
  get passedBytes(): number {
    return this.#passedBytes
  }

  pass(bytes: number): void {
    this.#passedBytes += bytes
  }

  setPassage(passage: Passage): void {
    this.#passage = passage
    this.#announce()
  }

  setFaults(faults: Faults): void {
    this.#faults = faults
    this.#arePartial = arePartial(faults)
    this.#announce()
  }

  /** Resolves at the next change of passage or faults. */
  change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #announce(): void {
    this.#isClear = this.#passage === 'open' && Object.keys(this.#faults).length === 0
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
