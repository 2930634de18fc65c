import type { Network } from '../../server/simulated/network.js'
import { checkArguments, refuse } from '../documents/arguments.js'
import type { Schema } from '../documents/schema.js'
import { LabError } from '../model/lab-error.js'
import type { LabLink } from '../links/links.js'

type Sides = readonly [SideOfLink, SideOfLink]

/** One end of a link: a cluster, or a node. */
export interface SideOfLink {
  readonly name: string
  readonly servers: readonly string[]
}

const SENDER: Schema = { type: 'string', title: 'the name of a cluster or node' }
const LATENCY: Schema = { type: 'number', minimum: 0, maximum: Number.MAX_VALUE, title: 'a number of milliseconds' }

const FAULTS = 'use partition, heal and setLatency'
const HELD = 'use partition, which delivers the data after heal'
const UNSUPPORTED: Readonly<Record<Exclude<keyof LabLink, keyof SimulatedLink>, string>> = {
  hold: HELD,
  release: HELD,
  setFault: FAULTS,
  clearFaults: FAULTS,
  resetConnections: FAULTS,
}

/**
 * The network between two clusters or two nodes of a simulated lab. With `sender`, a method affects only traffic from
 * this sender, otherwise both directions.
 *
 * @example
 * import { type SimulatedLink, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('dr', { simulated: true })
 * const link: SimulatedLink = lab.link('A', 'B')
 * link.partition()
 * await lab.clock.advance('10m')
 * link.heal()
 * link.setLatency(80)
 * await lab.converged()
 */
export class SimulatedLink {
  readonly #network: Network
  readonly #sides: Sides
  readonly #ownMs: number

  static {
    refuse(SimulatedLink.prototype, 'a link of a simulated lab', UNSUPPORTED)
    checkArguments(SimulatedLink.prototype, {
      partition: { 'sender?': SENDER },
      heal: { 'sender?': SENDER },
      setLatency: { ms: LATENCY, 'sender?': SENDER },
    })
  }

  /** `ownMs`: permanent latency, in milliseconds. */
  constructor(network: Network, sides: Sides, ownMs: number) {
    this.#network = network
    this.#sides = sides
    this.#ownMs = ownMs
    this.setLatency(0)
  }

  /** Stops delivery. Data sent in the meantime waits. */
  partition(sender?: string): void {
    for (const [from, to] of this.#ways(sender)) this.#network.cut(from, to)
  }

  /** Ends `partition`. Data sent in the meantime is delivered. */
  heal(sender?: string): void {
    for (const [from, to] of this.#ways(sender)) this.#network.restore(from, to)
  }

  /** Delays delivery by this number of milliseconds, in addition to the latency of the topology. 0 ends the delay. */
  setLatency(ms: number, sender?: string): void {
    for (const [from, to] of this.#ways(sender)) this.#network.slow(from, to, this.#ownMs + ms)
  }

  /** Whether all traffic is stopped in at least one direction, by `partition`. */
  get isCut(): boolean {
    const isCutFrom = ({ name }: SideOfLink) => this.#ways(name).every(([from, to]) => this.#network.isCut(from, to))
    return this.#sides.some(isCutFrom)
  }

  /** Whether all data is delivered without delay. */
  get isClear(): boolean {
    return this.#ways().every(
      ([from, to]) => !this.#network.isCut(from, to) && this.#network.slowMs(from, to) === this.#ownMs,
    )
  }

  /**
   * Returns the pairs of sender and receiver in one direction, or in both directions without `sender`. Throws LabError
   * `usage` for another sender.
   */
  #ways(sender?: string): [string, string][] {
    const [first, second] = this.#sides
    const names = [first.name, second.name]
    if (sender !== undefined && !names.includes(sender))
      throw new LabError('usage', `the link connects ${names.join(' and ')}, not ${sender}`)
    const sides = [
      [first, second],
      [second, first],
    ] as const
    return sides
      .filter(([{ name }]) => sender === undefined || sender === name)
      .flatMap(([from, to]) =>
        from.servers.flatMap((a) => to.servers.filter((b) => a !== b).map((b): [string, string] => [a, b])),
      )
  }
}
