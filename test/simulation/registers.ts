/** The known facts about one value, which only one client writes. */
interface Register {
  /** The last acknowledged value; undefined = deleted or never written. */
  known: string | undefined
  /** Values written later, with an unknown outcome. */
  readonly maybe: Set<string | undefined>
  /**
   * Values written later with an unknown outcome that are on their way to another cluster. They may take effect after
   * any later write.
   */
  readonly late: Set<string | undefined>
  /** All values ever written, in order. */
  readonly written: string[]
  /** True if its deletion was requested at least once. */
  mayBeDeleted: boolean
  /** True if a failover may have lost the known value, which must then be on a list. */
  isUncertain: boolean
  /** Index in `written`. Earlier values may have been shown and then lost by a failover. */
  floor: number
}

/** The values that clients wrote, by path, and the values that each read may return. */
export class Registers {
  readonly #all = new Map<string, Register>()
  /** The newest value that each cluster has shown, as an index in `written`. */
  readonly #shown = new Map<string, number>()

  get paths(): readonly string[] {
    return [...this.#all.keys()]
  }

  /** Records the start of a write; undefined = deletion. It has no response yet, and may take effect at any moment. */
  begin(path: string, value: string | undefined): void {
    const register = this.#of(path)
    register.maybe.add(value)
    if (value !== undefined) register.written.push(value)
    else register.mayBeDeleted = true
  }

  /** `isSure`: no failover during the request can have lost the write. */
  acknowledged(path: string, value: string | undefined, isSure: boolean): void {
    const register = this.#of(path)
    register.known = value
    register.maybe.clear()
    const wasUncertain = register.isUncertain
    register.isUncertain = !isSure
    if (!wasUncertain || !isSure) return
    register.floor = value === undefined ? register.written.length : register.written.indexOf(value)
  }

  /** Records that the outcome of a write will never be known. */
  markUnknown(path: string, value: string | undefined): void {
    this.#of(path).late.add(value)
  }

  /** Records that a failover may lose any value written until now. */
  markUncertain(): void {
    for (const register of this.#all.values()) register.isUncertain = true
  }

  /** Returns why this value cannot be present on a cluster with all acknowledged writes; undefined if it can. */
  findWrong(path: string, found: string | undefined): string | undefined {
    if (this.#of(path).isUncertain) return this.#findUnwritten(path, found)
    return this.#findOther(path, found)
  }

  /** Returns true if an acknowledged value is missing after a failover. The failover must then list it. */
  isLost(path: string, found: string | undefined): boolean {
    return this.#of(path).isUncertain && this.#findOther(path, found) !== undefined
  }

  /**
   * Like `findWrong`, for a cluster that may be behind: a value must have been written once, and must not be older than
   * a value that the cluster returned before.
   */
  findOlder(server: string, path: string, found: string | undefined): string | undefined {
    const { written, late, mayBeDeleted, isUncertain, floor } = this.#of(path)
    const unwritten = this.#findUnwritten(path, found)
    if (unwritten || isUncertain) return unwritten
    const last = this.#shown.get(`${server} ${path}`)
    if (found === undefined)
      return last === undefined || last < floor || mayBeDeleted
        ? undefined
        : `${path} is gone after ${written[last]}, and was never deleted`
    const at = written.indexOf(found)
    if (at < floor) return undefined
    const shown = last ?? 0
    this.#shown.set(`${server} ${path}`, Math.max(shown, at))
    return at < shown && !late.has(found) ? `${path} holds ${found} after ${written[shown]}` : undefined
  }

  #findUnwritten(path: string, found: string | undefined): string | undefined {
    if (found === undefined || this.#of(path).written.includes(found)) return undefined
    return `${path} holds ${found}, which was never written`
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
      isUncertain: false,
      floor: 0,
    }
    this.#all.set(path, found)
    return found
  }
}
