/**
 * Checks whether a history of concurrent operations on one object is linearizable. The algorithm is the search of Wing
 * and Gong with the cache of Lowe, as in "Testing for linearizability" (2017).
 */

/** The sequential specification of an object. */
export interface Model<S, O> {
  readonly initial: S
  /**
   * Returns the state after an operation with this response, or undefined if the response is not possible in this
   * state.
   */
  step(state: S, operation: O): S | undefined
  keyOf(state: S): string
  /**
   * Operations of unknown outcome with the same class are interchangeable: they differ only in the time of their call.
   * Undefined for all other operations.
   */
  classOf(operation: O): string | undefined
}

/** An operation with its call and response times, by one clock. */
export interface Timed<O> {
  readonly operation: O
  readonly calledMs: number
  /** Infinity if the outcome is unknown. The operation then took effect at any time after its call, or never. */
  readonly answeredMs: number
}

/** The longest valid order that was found, and the operations that cannot follow it. */
export interface Violation<O> {
  readonly order: readonly Timed<O>[]
  readonly stuckAt: readonly Timed<O>[]
}

/** A prefix of an order in the search. */
interface Choice<S, O> {
  readonly state: S
  readonly before: Choice<S, O> | undefined
  /** The last operation of the prefix; undefined at the start. */
  readonly taken: Entry<O> | undefined
  readonly length: number
  /** The possible next operations, in the order in which they are tried. */
  readonly candidates: readonly Entry<O>[]
  tried: number
}

/**
 * An operation in the search. Operations of known outcome form a linked list in the order of their calls, without those
 * that are in the current prefix.
 */
interface Entry<O> {
  readonly timed: Timed<O>
  readonly index: number
  /** Undefined if the outcome is known. */
  readonly peers: Peers<O> | undefined
  previous: Entry<O> | undefined
  next: Entry<O> | undefined
  isTaken: boolean
}

/**
 * Interchangeable operations of unknown outcome, in the order of their calls. The first `taken` of them are in the
 * current prefix.
 */
interface Peers<O> {
  readonly entries: Entry<O>[]
  taken: number
}

/**
 * Returns undefined if the history is linearizable. The effort grows with the length of the history times its
 * concurrency, not with the square of the length.
 */
export const findViolation = <S, O>(model: Model<S, O>, history: readonly Timed<O>[]): Violation<O> | undefined => {
  const sorted = [...history].sort((a, b) => a.calledMs - b.calledMs)
  return new Search(model, sorted).run()
}

class Search<S, O> {
  readonly #model: Model<S, O>
  /** Operations of known outcome, in the order of their calls. */
  readonly #known: readonly Entry<O>[]
  readonly #unknown: readonly Peers<O>[]
  readonly #seen = new Set<string>()
  /** The first operation of the linked list. */
  #first: Entry<O> | undefined
  #at: Choice<S, O> | undefined
  #longest: Choice<S, O> | undefined

  constructor(model: Model<S, O>, history: readonly Timed<O>[]) {
    this.#model = model
    const isKnown = ({ answeredMs }: Timed<O>) => answeredMs !== Infinity
    this.#known = linked(history.filter(isKnown))
    this.#first = this.#known[0]
    this.#unknown = peersOf(
      model,
      history.filter((timed) => !isKnown(timed)),
    )
  }

  run(): Violation<O> | undefined {
    this.#enter(this.#model.initial, undefined)
    while (this.#first) {
      if (!this.#at) return this.#found()
      const next = this.#at.candidates[this.#at.tried++]
      if (next) this.#try(this.#at.state, next)
      else this.#leave(this.#at)
    }
    return undefined
  }

  #try(state: S, entry: Entry<O>): void {
    const after = this.#model.step(state, entry.timed.operation)
    if (after === undefined) return
    this.#take(entry)
    const key = this.#keyOf(after)
    if (this.#seen.has(key)) this.#giveBack(entry)
    else this.#enter(after, entry)
    this.#seen.add(key)
  }

  #enter(state: S, taken: Entry<O> | undefined): void {
    const before = this.#at
    const length = before ? before.length + 1 : 0
    this.#at = { state, before, taken, length, candidates: this.#candidates(), tried: 0 }
    if (!this.#longest || length > this.#longest.length) this.#longest = this.#at
  }

  #leave(choice: Choice<S, O>): void {
    this.#at = choice.before
    if (choice.taken) this.#giveBack(choice.taken)
  }

  #take(entry: Entry<O>): void {
    entry.isTaken = true
    if (entry.peers) entry.peers.taken++
    else {
      if (entry.previous) entry.previous.next = entry.next
      else this.#first = entry.next
      if (entry.next) entry.next.previous = entry.previous
    }
  }

  /**
   * Puts an operation back into the linked list. Operations are put back in the reverse order of `#take`, so its
   * neighbors are still correct.
   */
  #giveBack(entry: Entry<O>): void {
    entry.isTaken = false
    if (entry.peers) entry.peers.taken--
    else {
      if (entry.previous) entry.previous.next = entry
      else this.#first = entry
      if (entry.next) entry.next.previous = entry
    }
  }

  /**
   * Returns the operations that were called before the first response of a remaining operation. Operations of unknown
   * outcome come last.
   */
  #candidates(): readonly Entry<O>[] {
    const candidates: Entry<O>[] = []
    let firstAnswerMs = Infinity
    for (let entry = this.#first; entry && entry.timed.calledMs <= firstAnswerMs; entry = entry.next) {
      candidates.push(entry)
      firstAnswerMs = Math.min(firstAnswerMs, entry.timed.answeredMs)
    }
    for (const { entries, taken } of this.#unknown) {
      const entry = entries[taken]
      if (entry && entry.timed.calledMs <= firstAnswerMs) candidates.push(entry)
    }
    return candidates
  }

  /**
   * Returns a key of the set of taken operations and the state. Prefixes with the same key have the same continuations.
   */
  #keyOf(state: S): string {
    const first = this.#first
    const beyond: number[] = []
    // A taken operation behind the first remaining one was called before the response of that one.
    for (let index = first ? first.index + 1 : Infinity; index < this.#known.length; index++) {
      const entry = this.#known[index]
      if (!entry || entry.timed.calledMs > (first?.timed.answeredMs ?? 0)) break
      if (entry.isTaken) beyond.push(index)
    }
    const unknown = this.#unknown.flatMap(({ taken }, index) => (taken > 0 ? [`${index}:${taken}`] : []))
    return `${first?.index}|${beyond}|${unknown}|${this.#model.keyOf(state)}`
  }

  #found(): Violation<O> {
    const order: Timed<O>[] = []
    for (let choice = this.#longest; choice?.taken; choice = choice.before) order.push(choice.taken.timed)
    return { order: order.reverse(), stuckAt: this.#longest?.candidates.map(({ timed }) => timed) ?? [] }
  }
}

const linked = <O>(history: readonly Timed<O>[]): readonly Entry<O>[] => {
  const entries = history.map((timed, index) => entryOf(timed, index, undefined))
  for (const [index, entry] of entries.entries()) {
    entry.previous = entries[index - 1]
    entry.next = entries[index + 1]
  }
  return entries
}

const peersOf = <S, O>(model: Model<S, O>, history: readonly Timed<O>[]): readonly Peers<O>[] => {
  const all: Peers<O>[] = []
  const byClass = new Map<string, Peers<O>>()
  for (const [index, timed] of history.entries()) {
    const name = model.classOf(timed.operation)
    const known = name === undefined ? undefined : byClass.get(name)
    const peers = known ?? { entries: [], taken: 0 }
    peers.entries.push(entryOf(timed, index, peers))
    if (known) continue
    all.push(peers)
    if (name !== undefined) byClass.set(name, peers)
  }
  return all
}

const entryOf = <O>(timed: Timed<O>, index: number, peers: Peers<O> | undefined): Entry<O> => ({
  timed,
  index,
  peers,
  previous: undefined,
  next: undefined,
  isTaken: false,
})
