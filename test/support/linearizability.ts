/**
 * Whether a history of concurrent operations on one object has an order that explains every answer: the search of Wing and
 * Gong with the memory of Lowe, as in "Testing for linearizability" (2017).
 */

/** What an object does, and would answer. */
export interface Model<S, O> {
  readonly initial: S
  /** The state after an operation that was answered as this one was; undefined where it cannot have been. */
  step(state: S, operation: O): S | undefined
  keyOf(state: S): string
  /** Those of unknown outcome with the same class can stand for each other: nothing tells them apart but when they were called. */
  classOf(operation: O): string | undefined
}

/** An operation with the moments between which it took effect, by one clock. */
export interface Timed<O> {
  readonly operation: O
  readonly calledMs: number
  /** Infinity: nobody knows what became of it. It took effect at any time afterwards, or never. */
  readonly answeredMs: number
}

/** The longest order that could be found, and those of which none can be the next. */
export interface Violation<O> {
  readonly order: readonly Timed<O>[]
  readonly stuckAt: readonly Timed<O>[]
}

interface Choice<S> {
  readonly state: S
  /** Of the operation that led here; undefined at the start. */
  readonly taken: number | undefined
  /** The indices of what may come next, from the last to the first. */
  readonly candidates: number[]
}

/** Undefined when there is an order. */
export const findViolation = <S, O>(model: Model<S, O>, history: readonly Timed<O>[]): Violation<O> | undefined => {
  const sorted = [...history].sort((a, b) => a.calledMs - b.calledMs)
  return new Search(model, sorted).run()
}

class Search<S, O> {
  readonly #model: Model<S, O>
  readonly #history: readonly Timed<O>[]
  readonly #isTaken: boolean[]
  readonly #path: Choice<S>[] = []
  readonly #seen = new Set<string>()
  #open: number
  #longest: Violation<O> = { order: [], stuckAt: [] }

  constructor(model: Model<S, O>, history: readonly Timed<O>[]) {
    this.#model = model
    this.#history = history
    this.#isTaken = history.map(() => false)
    this.#open = history.filter(({ answeredMs }) => answeredMs !== Infinity).length
  }

  run(): Violation<O> | undefined {
    this.#enter(this.#model.initial, undefined)
    for (;;) {
      if (this.#open === 0) return undefined
      const choice = this.#path.at(-1)
      if (!choice) return this.#longest
      const next = choice.candidates.pop()
      if (next === undefined) this.#leave()
      else this.#try(choice.state, next)
    }
  }

  #try(state: S, index: number): void {
    const after = this.#model.step(state, this.#at(index).operation)
    if (after === undefined) return
    this.#take(index, true)
    const key = this.#keyOf(after)
    if (this.#seen.has(key)) this.#take(index, false)
    else this.#enter(after, index)
    this.#seen.add(key)
  }

  #enter(state: S, taken: number | undefined): void {
    const candidates = this.#candidates()
    this.#path.push({ state, taken, candidates })
    if (this.#path.length <= this.#longest.order.length) return
    const order = this.#path.flatMap((choice) => (choice.taken === undefined ? [] : [this.#at(choice.taken)]))
    this.#longest = { order, stuckAt: candidates.map((index) => this.#at(index)).reverse() }
  }

  #leave(): void {
    const { taken } = this.#path.pop() ?? {}
    if (taken !== undefined) this.#take(taken, false)
  }

  #take(index: number, isTaken: boolean): void {
    this.#isTaken[index] = isTaken
    if (this.#at(index).answeredMs !== Infinity) this.#open += isTaken ? -1 : 1
  }

  /** Those that were called before any other that is left was answered. Those of unknown outcome are the last to be tried. */
  #candidates(): number[] {
    const known: number[] = []
    const unknown: number[] = []
    const classes = new Set<string>()
    let firstAnswerMs = Infinity
    for (const [index, { operation, calledMs, answeredMs }] of this.#history.entries()) {
      if (calledMs > firstAnswerMs) break
      if (this.#isTaken[index]) continue
      firstAnswerMs = Math.min(firstAnswerMs, answeredMs)
      if (answeredMs !== Infinity) known.push(index)
      else if (this.#isFirstOf(classes, this.#model.classOf(operation))) unknown.push(index)
    }
    return [...known, ...unknown].reverse()
  }

  #isFirstOf(classes: Set<string>, name: string | undefined): boolean {
    if (name === undefined) return true
    const isFirst = !classes.has(name)
    classes.add(name)
    return isFirst
  }

  /** Two orders of the same operations that end in the same state have the same future. */
  #keyOf(state: S): string {
    const first = this.#isTaken.findIndex((isTaken, index) => !isTaken && this.#at(index).answeredMs !== Infinity)
    const beyond = this.#isTaken.flatMap((isTaken, index) => {
      const isSaid = isTaken && (index > first || this.#at(index).answeredMs === Infinity)
      return isSaid ? [index] : []
    })
    return `${first}|${beyond}|${this.#model.keyOf(state)}`
  }

  #at(index: number): Timed<O> {
    const found = this.#history[index]
    if (!found) throw new Error(`no operation ${index}`)
    return found
  }
}
