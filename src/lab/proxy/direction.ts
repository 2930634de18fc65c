import { alternatives } from '../../base/counted.js'
import { LabError } from '../model/lab-error.js'
import { arePartial, type Faults, faultsFor } from './link-faults.js'

/**
 * One direction of a link: `up` is traffic from the dialing side, `down` traffic to it.
 *
 * @example
 * import { type Direction, startLab } from 'understudy-lab'
 *
 * const directions: readonly Direction[] = ['up', 'down']
 * await using lab = await startLab('pr')
 * for (const direction of directions) lab.link('A', 'C').setFault('latency', { ms: 40 }, direction)
 */
export type Direction = 'up' | 'down'

/**
 * One direction of a link, or both.
 *
 * @example
 * import { startLab, type Way } from 'understudy-lab'
 *
 * const way: Way = 'both'
 * await using lab = await startLab('pr')
 * lab.link('A', 'C').hold(way)
 * lab.link('A', 'C').release(way)
 */
export type Way = Direction | 'both'

export const DIRECTIONS: readonly Direction[] = ['up', 'down']

/** Throws LabError `usage` for an unknown direction, which the compiler does not catch in JavaScript. */
export const directionsOf = (way: Way): readonly Direction[] => {
  if (way === 'both') return DIRECTIONS
  if (DIRECTIONS.includes(way)) return [way]
  throw new LabError(
    'usage',
    `the direction of a link must be ${alternatives([...DIRECTIONS, 'both'])}, not "${String(way)}"`,
  )
}

/**
 * How a direction treats traffic. `held`: data waits, resets pass. `partitioned`: neither data nor the close of a
 * connection passes, as with a cut cable. Data that TCP would retransmit arrives after the fault is removed.
 */
export type Passage = 'open' | 'held' | 'partitioned'

/** The state of one direction of a link. Each connection of the link checks this state before it forwards data. */
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

  /**
   * Returns the faults of one connection. `draw` returns its random fraction, and is called only if a fault needs it.
   */
  faultsFor(draw: () => number): Faults {
    return this.#arePartial ? faultsFor(this.#faults, draw()) : this.#faults
  }

  /** The bytes forwarded in this direction so far, over all connections. */
  get passedBytes(): number {
    return this.#passedBytes
  }

  countPassed(bytes: number): void {
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
