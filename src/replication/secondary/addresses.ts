import { withScheme } from '../rpc/addresses.js'

const FORMER_MAX = 8

/**
 * The addresses of a primary. The status shows the addresses that the primary announces. Dialing starts with the last
 * address that responded, even if the primary does not announce it. Former addresses are a fallback, for example if the
 * primary failed over and back while the follower was disconnected.
 */
export class Addresses {
  #known: readonly string[]
  #current: string
  #former: readonly string[] = []

  /** Creates the list. `former` has earlier addresses from before a restart, newest first. */
  constructor(addresses: readonly string[], former: readonly string[] = []) {
    this.#known = addresses.map(withScheme)
    this.#current = this.#known[0] ?? ''
    this.#remember([...this.#known, ...former.map(withScheme)])
  }

  /** The announced addresses as `https://host:port`, best first. */
  get known(): readonly string[] {
    return this.#known
  }

  /** The address that is in use or was used last. */
  get current(): string {
    return this.#current
  }

  /** The addresses in the order of dialing, without duplicates. Excludes former addresses. */
  get dialOrder(): readonly string[] {
    return [...new Set([this.#current, ...this.#known])].filter((address) => address !== '')
  }

  /** The most recent addresses, including the known ones, newest first. */
  get former(): readonly string[] {
    return this.#former
  }

  /** Returns the next former address in rotation, or undefined if there is none. */
  nextFormer(): string | undefined {
    const order = this.dialOrder
    const index = this.#former.findLastIndex((address) => !order.includes(address))
    const address = this.#former[index]
    if (address !== undefined) this.#remember([address])
    return address
  }

  /** Records that `address` responded. Returns true if another address responded before. */
  answered(address: string): boolean {
    const before = this.#current
    this.#current = withScheme(address)
    this.#remember([this.#current])
    return this.#current !== before
  }

  /**
   * Sets the addresses that the primary announced for itself and its possible successors. Returns true if they have
   * changed.
   */
  learn(addresses: readonly string[]): boolean {
    const next = [...new Set(addresses.map(withScheme))]
    if (next.length === 0 || String(next) === String(this.#known)) return false
    this.#known = next
    this.#remember(next)
    return true
  }

  /** Adds addresses to the front of the former addresses. */
  #remember(addresses: readonly string[]): void {
    const named = addresses.filter((address) => address !== '')
    this.#former = [...new Set([...named, ...this.#former])].slice(0, FORMER_MAX)
  }
}
