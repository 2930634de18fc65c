/** What a client knows of one value that it alone writes. */
interface Register {
  /** The last that was acknowledged; undefined = nothing is there. */
  known: string | undefined
  /** Written later, without an answer that says whether it was done. */
  readonly maybe: Set<string | undefined>
  /** The same, and under way to another cluster, so that it may be done after whatever is written later. */
  readonly late: Set<string | undefined>
  /** Everything that was ever written, in order. */
  readonly written: string[]
  /** Somebody has asked for it to be deleted once. */
  mayBeDeleted: boolean
  /** A failover may have lost what is known, which it has to list then. */
  isShaken: boolean
  /** What was written before this place may have been shown and be gone again since a failover. */
  floor: number
}

/** Values that clients wrote, by path, and what must be found there. */
export class Registers {
  readonly #all = new Map<string, Register>()
  /** The newest that each cluster has shown, as its place in the order of what was written. */
  readonly #shown = new Map<string, number>()

  get paths(): readonly string[] {
    return [...this.#all.keys()]
  }

  /** Undefined = deleted. Nobody has answered yet, and it may be done at any moment. */
  begin(path: string, value: string | undefined): void {
    const register = this.#of(path)
    register.maybe.add(value)
    if (value !== undefined) register.written.push(value)
    else register.mayBeDeleted = true
  }

  /** `isSure`: no failover that was under way meanwhile can have lost it. */
  acknowledged(path: string, value: string | undefined, isSure: boolean): void {
    const register = this.#of(path)
    register.known = value
    register.maybe.clear()
    const wasShaken = register.isShaken
    register.isShaken = !isSure
    if (!wasShaken || !isSure) return
    register.floor = value === undefined ? register.written.length : register.written.indexOf(value)
  }

  /** Nobody will say what became of it. */
  lostSight(path: string, value: string | undefined): void {
    this.#of(path).late.add(value)
  }

  /** A failover is ahead that may lose whatever was written until now. */
  shake(): void {
    for (const register of this.#all.values()) register.isShaken = true
  }

  /** Why this cannot be there, where all that was acknowledged is; undefined when it can. */
  findWrong(path: string, found: string | undefined): string | undefined {
    if (this.#of(path).isShaken) return this.#findUnwritten(path, found)
    return this.#findOther(path, found)
  }

  /** True where something that was acknowledged is not there after a failover, which may be: it has to be listed. */
  isLost(path: string, found: string | undefined): boolean {
    return this.#of(path).isShaken && this.#findOther(path, found) !== undefined
  }

  /** The same for a cluster that may be behind: it shows something that was written once, and nothing older than it has shown. */
  findOlder(server: string, path: string, found: string | undefined): string | undefined {
    const { written, late, mayBeDeleted, isShaken, floor } = this.#of(path)
    const unwritten = this.#findUnwritten(path, found)
    if (unwritten || isShaken) return unwritten
    const last = this.#shown.get(`${server} ${path}`)
    if (found === undefined)
      return last === undefined || last < floor || mayBeDeleted
        ? undefined
        : `${path} is gone after ${written[last]}, and was never deleted`
    const place = written.indexOf(found)
    if (place < floor) return undefined
    const shown = last ?? 0
    this.#shown.set(`${server} ${path}`, Math.max(shown, place))
    return place < shown && !late.has(found) ? `${path} holds ${found} after ${written[shown]}` : undefined
  }

  #findUnwritten(path: string, found: string | undefined): string | undefined {
    if (found === undefined || this.#of(path).written.includes(found)) return undefined
    return `${path} holds ${found}, which nobody has written`
  }

  #findOther(path: string, found: string | undefined): string | undefined {
    const { known, maybe, late } = this.#of(path)
    if (found === known || maybe.has(found) || late.has(found)) return undefined
    const others = [...maybe, ...late]
    return `${path} holds ${found}; acknowledged was ${known}${others.length > 0 ? `, and ${others.join(' or ')} may be` : ''}`
  }

  #of(path: string): Register {
    const found = this.#all.get(path) ?? {
      known: undefined,
      maybe: new Set(),
      late: new Set(),
      written: [],
      mayBeDeleted: false,
      isShaken: false,
      floor: 0,
    }
    this.#all.set(path, found)
    return found
  }
}
