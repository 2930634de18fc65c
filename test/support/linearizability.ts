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

/** Where an order has come to. */
interface Choice<S, O> {
  readonly state: S
  readonly before: Choice<S, O> | undefined
  /** What led here; undefined at the start. */
  readonly taken: Entry<O> | undefined
  readonly length: number
  /** What may come next, from the first to be tried to the last. */
  readonly candidates: readonly Entry<O>[]
  tried: number
}

/** An operation in the search. Of those whose outcome is known, the ones that are not taken yet are a list in the order of their calls. */
interface Entry<O> {
  readonly timed: Timed<O>
  readonly index: number
  /** Undefined where its outcome is known. */
  readonly peers: Peers<O> | undefined
  previous: Entry<O> | undefined
  next: Entry<O> | undefined
  isTaken: boolean
}

/** Those of unknown outcome that can stand for each other: whichever is taken, it is the one that was called first. */
interface Peers<O> {
  readonly entries: Entry<O>[]
  taken: number
}

/** Undefined when there is an order. The effort grows with the history times what was asked at once, not with its square. */
export const findViolation = <S, O>(model: Model<S, O>, history: readonly Timed<O>[]): Violation<O> | undefined => {
  const sorted = [...history].sort((a, b) => a.calledMs - b.calledMs)
  return new Search(model, sorted).run()
}

class Search<S, O> {
  readonly #model: Model<S, O>
  /** Those of known outcome, in the order of their calls. */
  readonly #known: readonly Entry<O>[]
  readonly #unknown: readonly Peers<O>[]
  readonly #seen = new Set<string>()
  /** The first that is not taken. */
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

  /** What was taken last is given back first: it still knows where it stood. */
  #giveBack(entry: Entry<O>): void {
    entry.isTaken = false
    if (entry.peers) entry.peers.taken--
    else {
      if (entry.previous) entry.previous.next = entry
      else this.#first = entry
      if (entry.next) entry.next.previous = entry
    }
  }

  /** Those that were called before any other that is left was answered. Those of unknown outcome are the last to be tried. */
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

  /** Two orders of the same operations that end in the same state have the same future. */
  #keyOf(state: S): string {
    const first = this.#first
    const beyond: number[] = []
    // What was taken before the first was called before the first was answered.
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
