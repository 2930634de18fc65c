import { createHash } from 'node:crypto'

/** A random number generator. Each seed always gives the same sequence. */
export class Chance {
  readonly #state: Uint32Array

  constructor(seed: string) {
    const digest = createHash('sha256').update(seed).digest()
    this.#state = Uint32Array.from([0, 4, 8, 12], (at) => digest.readUInt32LE(at))
  }

  /** Returns a number of at least 0 and less than 1 (algorithm: sfc32). */
  next(): number {
    const [a = 0, b = 0, c = 0, counter = 0] = this.#state
    const sum = (a + b + counter) | 0
    this.#state[0] = b ^ (b >>> 9)
    this.#state[1] = (c + (c << 3)) | 0
    this.#state[2] = (((c << 21) | (c >>> 11)) + sum) | 0
    this.#state[3] = counter + 1
    return (sum >>> 0) / 2 ** 32
  }

  /** Returns an integer of at least 0 and less than `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  between(from: number, to: number): number {
    return from + this.next() * (to - from)
  }

  /** Returns true with this probability (0 to 1). */
  happens(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(choices: readonly T[]): T {
    const picked = choices[this.below(choices.length)]
    if (picked === undefined) throw new Error('nothing to choose from')
    return picked
  }

  /** Returns one of the names. Its probability is proportional to its weight. */
  weighed<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const rows = Object.entries(weights) as [Name, number][]
    let left = this.next() * rows.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of rows) {
      left -= weight
      if (left < 0) return name
    }
    throw new Error('nothing to choose from')
  }
}
