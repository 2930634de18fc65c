import type { Clock } from '../../base/clock.js'
import { MemoryLink } from '../../storage/shared-log/memory-link.js'
import type { Chance } from './chance.js'

interface LogLinkOptions {
  /** The node's clock. */
  readonly clock: Clock
  readonly chance: Chance
  /** Maximum latency in ms of each request, response and notification. */
  readonly delayMsMax: number
}

/** The link between a node and its shared log, with latency. */
export class LogLink extends MemoryLink {
  readonly #options: LogLinkOptions

  constructor(options: LogLinkOptions) {
    super()
    this.#options = options
  }

  override async ask<T>(question: () => T): Promise<T> {
    await this.#pass()
    const answer = await super.ask(question)
    await this.#pass()
    return answer
  }

  override get listening(): Promise<void> {
    return super.listening.then(() => this.#pass())
  }

  #pass(): Promise<void> {
    const { clock, chance, delayMsMax } = this.#options
    return clock.sleep(chance.next() * delayMsMax)
  }
}
