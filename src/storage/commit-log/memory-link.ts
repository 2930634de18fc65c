/** The way between a node and an engine in memory: as it is, cut, or with answers that never come. Nothing sent is lost for good. */
export class MemoryLink {
  #canAsk = new Gate()
  #canAnswer = new Gate()

  /** Nothing gets through until it is healed. */
  cut(): void {
    this.#canAsk.shut()
    this.#canAnswer.shut()
  }

  /** What is asked happens, and nobody is told until it is healed. */
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

  /** Resolves when news of the other side can come. */
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
