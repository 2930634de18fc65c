import type { ApiClient } from '../../src/client/api-client.js'

export interface LoadOptions {
  readonly client: ApiClient
  /** Number of writers. Each has one request in flight. */
  readonly writers: number
  /** Returns the path of the write with this index. */
  readonly pathOf: (index: number) => string
  readonly bodyOf: (index: number) => unknown
}

/** Writes continuously until it is stopped. Failed writes are not repeated. */
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

  /** Indexes of the writes with a 2xx response. */
  get acknowledged(): ReadonlySet<number> {
    return this.#acknowledged
  }

  /** Number of failed writes by status or error. */
  get refusals(): ReadonlyMap<string, number> {
    return this.#refusals
  }

  start(): void {
    this.#isStopping = false
    this.#running = Promise.all(Array.from({ length: this.#options.writers }, () => this.#write()))
  }

  /** Stops, and resolves when no write is in flight. */
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
        // Yields to the event loop, for example to a server that restarts in this process.
        await new Promise(setImmediate)
      }
    }
  }
}

/** Runs `work` for all items, at most `atOnce` at the same time. */
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
