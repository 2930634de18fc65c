/**
 * A simulated connection between a node and a shared log in memory. A fault delays requests or responses but never
 * drops them.
 */
export class MemoryLink {
  #canAsk = new Gate()
  #canAnswer = new Gate()

  /** Blocks requests and responses until `heal`. */
  cut(): void {
    this.#canAsk.shut()
    this.#canAnswer.shut()
  }

  /** Executes requests but withholds their responses until `heal`. */
  loseAnswers(): void {
    this.#canAnswer.shut()
  }

  heal(): void {
    this.#canAsk.open()
    this.#canAnswer.open()
  }

  async ask<T>(question: () => T): Promise<T> {
    await this.#canAsk.passed
    const answer = question()
    await this.#canAnswer.passed
    return answer
  }

  /** Resolves when notifications from the other side can arrive. */
  get listening(): Promise<void> {
    return this.#canAnswer.passed
  }
}

class Gate {
  passed: Promise<void> = Promise.resolve()
  #pass: () => void = () => undefined

  shut(): void {
    this.#pass()
    this.passed = new Promise((resolve) => {
      this.#pass = resolve
    })
  }

  open(): void {
    this.#pass()
  }
}
