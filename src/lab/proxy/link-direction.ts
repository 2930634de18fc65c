import type { Passage } from './direction.js'
import { arePartial, type Faults, faultsFor } from './link-faults.js'

/** One direction of a link, shared by all its connections: they look here before everything they pass on. */
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

  /** Whether this direction passes everything at once and as it is. */
  get isClear(): boolean {
    return this.#isClear
  }

  /** Faults for one connection, which draws its lot when they are asked for. */
  faultsFor(lot: () => number): Faults {
    return this.#arePartial ? faultsFor(this.#faults, lot()) : this.#faults
  }

  /** Bytes that were passed on this way so far, over all connections. */
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
