import { withScheme } from '../rpc/addresses.js'

const FORMER_MAX = 8

/**
 * Where a follower looks for its primary. What is shown is what the primary says of itself; what is dialled begins with
 * the address that answered last, and keeps the one an operator gave even when the primary does not name it. What was
 * known before is remembered for the time when nothing else answers: a primary that failed over and back is found although
 * nobody could say so in time.
 */
export class Addresses {
  #known: readonly string[]
  #current: string
  #former: readonly string[] = []

  /** `former`: those that were known before, the newest first, as another life of the server has kept them. */
  constructor(addresses: readonly string[], former: readonly string[] = []) {
    this.#known = addresses.map(withScheme)
    this.#current = this.#known[0] ?? ''
    this.#remember([...this.#known, ...former.map(withScheme)])
  }

  /** As the status shows them: `https://host:port`, the best first. */
  get known(): readonly string[] {
    return this.#known
  }

  /** The one in use, or used last. */
  get current(): string {
    return this.#current
  }

  /** All to be tried, in order, each once. */
  get dialOrder(): readonly string[] {
    return [...new Set([this.#current, ...this.#known])].filter((address) => address !== '')
  }

  /** Those that are remembered, whether they are known or not. */
  get former(): readonly string[] {
    return this.#former
  }

  /** The next of those that are not known any more, in turn; undefined when there are none. */
  nextFormer(): string | undefined {
    const order = this.dialOrder
    const index = this.#former.findLastIndex((address) => !order.includes(address))
    const address = this.#former[index]
    if (address !== undefined) this.#remember([address])
    return address
  }

  /** `address` answered. True when it is another one than before. */
  answered(address: string): boolean {
    const before = this.#current
    this.#current = withScheme(address)
    this.#remember([this.#current])
    return this.#current !== before
  }

  /** The primary says where it, or what takes its place, can be found. True when that changed something. */
  learn(addresses: readonly string[]): boolean {
    const next = [...new Set(addresses.map(withScheme))]
    if (next.length === 0 || String(next) === String(this.#known)) return false
    this.#known = next
    this.#remember(next)
    return true
  }

  /** The newest first. */
  #remember(addresses: readonly string[]): void {
    const named = addresses.filter((address) => address !== '')
    this.#former = [...new Set([...named, ...this.#former])].slice(0, FORMER_MAX)
  }
}
