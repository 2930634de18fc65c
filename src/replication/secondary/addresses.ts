import { withScheme } from '../rpc/addresses.js'

const FORMER_MAX = 8

/**
 * The addresses at which a follower tries to reach its primary. The status shows the addresses that the primary
 * announces. Dialing starts with the last address that responded, even if the primary does not announce this address.
 * Former addresses are a fallback, for example for a primary that failed over and back while the follower was
 * disconnected.
 */
export class Addresses {
  #known: readonly string[]
  #current: string
  #former: readonly string[] = []

  /** `former`: earlier addresses from before a restart, newest first. */
  constructor(addresses: readonly string[], former: readonly string[] = []) {
    this.#known = addresses.map(withScheme)
    this.#current = this.#known[0] ?? ''
    this.#remember([...this.#known, ...former.map(withScheme)])
  }

  /** The addresses for the status: `https://host:port`, best first. */
  get known(): readonly string[] {
    return this.#known
  }

  /** The address in use, or used last. */
  get current(): string {
    return this.#current
  }

  /** All addresses in the order of dialing, without duplicates. */
  get dialOrder(): readonly string[] {
    return [...new Set([this.#current, ...this.#known])].filter((address) => address !== '')
  }

  /** All remembered addresses, including known ones. */
  get former(): readonly string[] {
    return this.#former
  }

  /** Returns the next former address, in turn; undefined if there is none. */
  nextFormer(): string | undefined {
    const order = this.dialOrder
    const index = this.#former.findLastIndex((address) => !order.includes(address))
    const address = this.#former[index]
    if (address !== undefined) this.#remember([address])
    return address
  }

  /** Records that `address` responded. Returns true if it differs from the previous address. */
  answered(address: string): boolean {
    const before = this.#current
    this.#current = withScheme(address)
    this.#remember([this.#current])
    return this.#current !== before
  }

  /**
   * Sets the addresses that the primary announced for itself or its possible successors. Returns true if they changed.
   */
  learn(addresses: readonly string[]): boolean {
    const next = [...new Set(addresses.map(withScheme))]
    if (next.length === 0 || String(next) === String(this.#known)) return false
    this.#known = next
    this.#remember(next)
    return true
  }

  /** Adds addresses, newest first. */
  #remember(addresses: readonly string[]): void {
    const named = addresses.filter((address) => address !== '')
    this.#former = [...new Set([...named, ...this.#former])].slice(0, FORMER_MAX)
  }
}
