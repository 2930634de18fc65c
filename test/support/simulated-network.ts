import type { Clock, Timer } from '../../src/base/clock.js'
import { formatHostPort, parseHostPort } from '../../src/base/network.js'
import { LogicalError } from '../../src/logical/errors.js'
import { Inbox } from '../../src/replication/rpc/simulated/inbox.js'
import type { MessageNetwork, Wire, WireMessage } from '../../src/replication/rpc/simulated/wire.js'

interface SimulatedNetworkOptions {
  readonly clock: Clock
  /** How long the next message takes, in milliseconds. */
  readonly nextDelayMs?: () => number
}

/** Where ports begin that nobody asked for by number. */
const FIRST_PORT = 49_152

/**
 * A network within the process. Messages of one direction of a connection stay in order; those of two connections, or of
 * two directions, overtake one another as their delays say. It can be cut, be down, and fall silent.
 */
export class SimulatedNetwork implements MessageNetwork {
  readonly #options: SimulatedNetworkOptions
  readonly #listening = new Map<string, (wire: Wire) => void>()
  readonly #links = new Set<Link>()
  #nextPort = FIRST_PORT
  /** Nobody gets a connection. */
  isDown = false
  dials = 0

  constructor(options: SimulatedNetworkOptions) {
    this.#options = options
  }

  listen(address: string, onWire: (wire: Wire) => void): { readonly address: string; close(): void } {
    const { host, port } = parseHostPort(address)
    const bound = formatHostPort(host, port === 0 ? this.#nextPort++ : port)
    if (this.#listening.has(bound)) throw new Error(`the address ${bound} is taken`)
    this.#listening.set(bound, onWire)
    return { address: bound, close: () => void this.#listening.delete(bound) }
  }

  async dial(address: string, signal: AbortSignal): Promise<Wire> {
    this.dials++
    await this.#options.clock.sleep(this.#delayMs(), signal)
    const onWire = this.#listening.get(address)
    if (this.isDown || !onWire) throw new LogicalError('unavailable', `nobody answers at ${address}`)
    const link = new Link(
      this.#options.clock,
      () => this.#delayMs(),
      (gone) => this.#links.delete(gone),
    )
    this.#links.add(link)
    onWire(link.far)
    return link.near
  }

  /** Ends every connection; both sides are told. */
  cut(): void {
    for (const link of this.#links) link.cut()
  }

  /** From now on nothing arrives on the connections that there are, and nobody is told. */
  freeze(): void {
    for (const link of this.#links) link.isFrozen = true
  }

  /** Frozen connections are gone, as after the restart of a router. */
  thaw(): void {
    for (const link of this.#links) if (link.isFrozen) link.cut()
  }

  #delayMs(): number {
    return this.#options.nextDelayMs?.() ?? 0
  }
}

/** A connection: two ends and what is under way between them. */
class Link {
  readonly near: LinkEnd
  readonly far: LinkEnd
  isFrozen = false
  readonly #onGone: (link: Link) => void

  constructor(clock: Clock, delayMs: () => number, onGone: (link: Link) => void) {
    this.#onGone = onGone
    this.near = new LinkEnd(this, clock, delayMs)
    this.far = new LinkEnd(this, clock, delayMs)
  }

  otherOf(end: LinkEnd): LinkEnd {
    return end === this.near ? this.far : this.near
  }

  cut(): void {
    this.isFrozen = false
    this.gone()
    for (const end of [this.near, this.far]) end.closed()
  }

  gone(): void {
    this.#onGone(this)
  }
}

class LinkEnd implements Wire {
  readonly #link: Link
  readonly #clock: Clock
  readonly #delayMs: () => number
  readonly #inbox = new Inbox()
  /** Messages under way to the other end, in order. */
  readonly #underWay: { readonly dueMs: number; readonly arrive: (other: LinkEnd) => void }[] = []
  #timer: Timer | undefined

  constructor(link: Link, clock: Clock, delayMs: () => number) {
    this.#link = link
    this.#clock = clock
    this.#delayMs = delayMs
  }

  send(message: WireMessage): void {
    if (!this.#inbox.isClosed) this.#deliver((other) => other.#inbox.take(message))
  }

  listen(listeners: Parameters<Wire['listen']>[0]): void {
    this.#inbox.listen(listeners)
  }

  close(): void {
    if (!this.#inbox.shut()) return
    this.#deliver((other) => {
      this.#link.gone()
      other.closed()
    })
  }

  closed(): void {
    this.#inbox.end()
  }

  /** Everything arrives in the order in which it was sent, also a close. */
  #deliver(arrive: (other: LinkEnd) => void): void {
    this.#underWay.push({ dueMs: this.#clock.monotonic() + this.#delayMs(), arrive })
    this.#arriveLater()
  }

  #arriveLater(): void {
    const [next] = this.#underWay
    if (!next || this.#timer) return
    this.#timer = this.#clock.setTimer(next.dueMs - this.#clock.monotonic(), () => this.#arrive())
  }

  #arrive(): void {
    this.#timer = undefined
    const nowMs = this.#clock.monotonic()
    for (let next = this.#underWay[0]; next && next.dueMs <= nowMs; next = this.#underWay[0]) {
      this.#underWay.shift()
      if (!this.#link.isFrozen) next.arrive(this.#link.otherOf(this))
    }
    this.#arriveLater()
  }
}
