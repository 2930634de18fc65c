/** What a client knows of one value that it alone writes. */
interface Register {
  /** The last that was acknowledged; undefined = nothing is there. */
  known: string | undefined
  /** Written later, without an answer that says whether it was done. */
  readonly maybe: Set<string | undefined>
}

/** Values that clients wrote, by path, and what must be found there. */
export class Registers {
  readonly #all = new Map<string, Register>()

  get paths(): readonly string[] {
    return [...this.#all.keys()]
  }

  acknowledged(path: string, value: string | undefined): void {
    this.#all.set(path, { known: value, maybe: new Set() })
  }

  /** It may have been done, and may still be done while nobody has answered. */
  unknown(path: string, value: string | undefined): void {
    this.#of(path).maybe.add(value)
  }

  /** What is wrong with this value; undefined when it may be there. */
  findWrong(path: string, found: string | undefined): string | undefined {
    const { known, maybe } = this.#of(path)
    if (found === known || maybe.has(found)) return undefined
    return `${path} holds ${found}; acknowledged was ${known}${maybe.size > 0 ? `, and ${[...maybe].join(' or ')} may be` : ''}`
  }

  #of(path: string): Register {
    const found = this.#all.get(path) ?? { known: undefined, maybe: new Set() }
    this.#all.set(path, found)
    return found
  }
}
