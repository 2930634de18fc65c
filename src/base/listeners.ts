/** The listeners of an event. */
export class Listeners<Arguments extends readonly unknown[] = []> {
  readonly #all = new Set<(...given: Arguments) => void>()

  /** Adds a listener. Returns the function that removes it. */
  readonly add = (listener: (...given: Arguments) => void): (() => void) => {
    this.#all.add(listener)
    return () => void this.#all.delete(listener)
  }

  /** Calls every listener. */
  emit(...given: Arguments): void {
    for (const listener of [...this.#all]) listener(...given)
  }
}
