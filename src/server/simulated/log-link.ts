import type { Clock } from '../../base/clock.js'
import { MemoryLink } from '../../storage/commit-log/memory-link.js'
import type { Chance } from './chance.js'

interface LogLinkOptions {
  /** Of the node. */
  readonly clock: Clock
  readonly chance: Chance
  /** How long a question, an answer and a piece of news take at most, each. */
  readonly delayMsMax: number
}

/** The way between a node and the log that it shares, on which everything takes its time. */
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
