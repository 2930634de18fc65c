import type { ApiClient } from '../../src/client/api-client.js'

export interface LoadOptions {
  readonly client: ApiClient
  /** Writers that each have one request under way. */
  readonly writers: number
  /** Path of the n-th write. */
  readonly pathOf: (index: number) => string
  readonly bodyOf: (index: number) => unknown
}

/** Writes without pause until it is stopped; a write that is not answered with 2xx is not repeated, and does not count. */
export class WriteLoad {
  readonly #options: LoadOptions
  readonly #acknowledged = new Set<number>()
  readonly #refusals = new Map<string, number>()
  #next = 0
  #isStopping = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(options: LoadOptions) {
    this.#options = options
  }

  /** Indexes of the writes that were answered with 2xx. */
  get acknowledged(): ReadonlySet<number> {
    return this.#acknowledged
  }

  /** How often writes were not acknowledged, by status or error. */
  get refusals(): ReadonlyMap<string, number> {
    return this.#refusals
  }

  start(): void {
    this.#isStopping = false
    this.#running = Promise.all(Array.from({ length: this.#options.writers }, () => this.#write()))
  }

  /** Resolves when no write is under way any more. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
  }

  async #write(): Promise<void> {
    const { client, pathOf, bodyOf } = this.#options
    while (!this.#isStopping) {
      const index = this.#next++
      const outcome = await client.send('PUT', pathOf(index), { body: bodyOf(index) }).then(
        ({ status }) => (status < 300 ? undefined : String(status)),
        (error: Error) => error.name,
      )
      if (outcome === undefined) this.#acknowledged.add(index)
      else {
        this.#refusals.set(outcome, (this.#refusals.get(outcome) ?? 0) + 1)
        // Nobody answers: others get the processor, such as the server that starts again.
        await new Promise(setImmediate)
      }
    }
  }
}

/** Runs `work` over the items with so many under way at once. */
export const forEachOf = async <T>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> => {
  const iterator = items[Symbol.iterator]()
  const worker = async () => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
