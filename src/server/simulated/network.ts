import type { Clock } from '../../base/clock.js'
import { LogicalError } from '../../logical/errors.js'
import type { MessageNetwork, Wire } from '../../replication/rpc/simulated/wire.js'
import type { Chance } from './chance.js'
import { End, type Sent } from './connection-end.js'
import type { History } from './history.js'
import type { Host } from './host.js'

interface NetworkOptions {
  readonly clock: Clock
  readonly chance: Pick<Chance, 'next' | 'happens'>
  readonly history: History
  /** Maximum latency of a message, in ms. */
  readonly delayMsMax: number
}

/**
 * The network between simulated clusters. Each message has a random latency. As in TCP, messages in one direction of a
 * connection stay in order. Otherwise there is no order. If a direction is cut, its messages wait until it is restored.
 */
export class Network {
  readonly #options: NetworkOptions
  readonly #listening = new Map<string, { readonly host: Host; readonly onWire: (wire: Wire) => void }>()
  readonly #ends = new Set<End>()
  readonly #cuts = new Set<string>()
  readonly #slow = new Map<string, number>()
  #nextConnection = 1
  /** If false, some messages have a much higher latency. */
  isCalm = true

  constructor(options: NetworkOptions) {
    this.#options = options
  }

  /** Returns the network of one server process. */
  viewOf(host: Host): MessageNetwork {
    return {
      listen: (address, onWire) => {
        // The code of a dead process still runs until its next wait. It must not use the network.
        if (!host.isAlive) return { address, close: () => undefined }
        if (this.#listening.has(address)) throw new Error(`the address ${address} is taken`)
        this.#listening.set(address, { host, onWire })
        return { address, close: () => void this.#listening.delete(address) }
      },
      dial: (address, signal) => this.#dial(host, address, signal),
    }
  }

  /** Cuts this direction: its messages wait until `restore` or `heal` is called. */
  cut(from: string, to: string): void {
    this.#tell(`the path ${pathOf(from, to)} is cut`)
    this.#cuts.add(pathOf(from, to))
  }

  heal(): void {
    for (const path of this.#cuts) this.#tell(`the path ${path} is restored`)
    this.#cuts.clear()
    for (const end of this.#ends) end.pump()
  }

  restore(from: string, to: string): void {
    this.#tell(`the path ${pathOf(from, to)} is restored`)
    this.#cuts.delete(pathOf(from, to))
    for (const end of this.#ends) end.pump()
  }

  /** Adds this latency in ms to later messages in this direction. Replaces the previous additional latency. */
  slow(from: string, to: string, ms: number): void {
    this.#tell(`the path ${pathOf(from, to)} has ${ms} ms of additional latency`)
    if (ms > 0) this.#slow.set(pathOf(from, to), ms)
    else this.#slow.delete(pathOf(from, to))
  }

  slowMs(from: string, to: string): number {
    return this.#slow.get(pathOf(from, to)) ?? 0
  }

  isCut(from: string, to: string): boolean {
    return this.#cuts.has(pathOf(from, to))
  }

  /** Breaks every connection between the two hosts. Data in transit is lost. */
  reset(one: string, other: string): void {
    this.#tell(`the connections ${pathOf(one, other)} break`)
    for (const end of [...this.#ends])
      if (end.host.name === one && end.other?.host.name === other)
        for (const each of [end, end.other]) each.disconnect()
  }

  get cuts(): readonly string[] {
    return [...this.#cuts]
  }

  /** The data in transit, per end of a connection. */
  get inTransit(): readonly Sent[] {
    return [...this.#ends].map((end) => end.sent)
  }

  /**
   * Removes a server process. If `arePeersNotified` is true, its connections close, as after the exit of a process.
   * Otherwise they stay open on the other side, as after a power failure.
   */
  removeHost(host: Host, arePeersNotified: boolean): void {
    for (const [address, listening] of this.#listening) if (listening.host === host) this.#listening.delete(address)
    for (const end of this.#ends) {
      if (end.host !== host) continue
      if (arePeersNotified) end.close()
      end.forget()
    }
  }

  /** Returns a random latency of a message or of a client's request, in ms. */
  delayMs(): number {
    const { chance, delayMsMax } = this.#options
    return chance.next() * delayMsMax * (!this.isCalm && chance.happens(SLOW_PROBABILITY) ? SLOW_FACTOR : 1)
  }

  #tell(what: string): void {
    this.#options.history.tell('', () => what)
  }

  async #dial(host: Host, address: string, signal: AbortSignal): Promise<Wire> {
    const { clock } = this.#options
    await clock.sleep(this.delayMs(), signal)
    const target = this.#listening.get(address)
    if (target && (this.isCut(host.name, target.host.name) || this.isCut(target.host.name, host.name)))
      await clock.sleep(NEVER_MS, signal)
    if (!target?.host.isAlive || !host.isAlive) throw new LogicalError('unavailable', `no server listens at ${address}`)
    const [near, far] = this.#connect(host, target.host)
    target.onWire(far)
    return near
  }

  #connect(from: Host, to: Host): [End, End] {
    const name = `#${this.#nextConnection++}`
    const shared = { ...this.#options, network: this, name, onGone: (end: End) => void this.#ends.delete(end) }
    const near = new End(from, shared)
    const far = new End(to, shared)
    near.other = far
    far.other = near
    this.#ends.add(near).add(far)
    this.#options.history.add(from.name, `${name} connects to ${to.name}`)
    return [near, far]
  }
}

const SLOW_PROBABILITY = 0.01
const SLOW_FACTOR = 20
const NEVER_MS = 2 ** 31
const pathOf = (from: string, to: string): string => `${from}>${to}`
