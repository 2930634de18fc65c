import type { Network } from '../../server/simulated/network.js'
import { LabError } from '../model/lab-error.js'
import type { LabLink } from '../links/links.js'
import { refuse } from './not-offered.js'

/** Two sides, and the servers of each. */
type Sides = readonly [SideOfLink, SideOfLink]

interface SideOfLink {
  readonly name: string
  readonly servers: readonly string[]
}

const FAULTS = 'it can be cut and slowed: partition, heal, setLatency'
const NOT_OFFERED: Readonly<Record<Exclude<keyof LabLink, keyof SimulatedLink>, string>> = {
  hold: 'what is sent waits while it is cut',
  release: 'what is sent waits while it is cut',
  setFault: FAULTS,
  clearFaults: FAULTS,
  resetConnections: FAULTS,
}

/**
 * The network between two clusters of a simulated lab, or two nodes. What is named by its sender acts on what that one sends
 * alone; on both ways otherwise.
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
    refuse(SimulatedLink.prototype, 'a link of a simulated lab', NOT_OFFERED)
  }

  /** `ownMs`: the latency that it always has. */
  constructor(network: Network, sides: Sides, ownMs: number) {
    this.#network = network
    this.#sides = sides
    this.#ownMs = ownMs
    this.setLatency(0)
  }

  /** Nothing arrives from now on; what is sent meanwhile waits. */
  partition(sender?: string): void {
    for (const [from, to] of this.#ways(sender)) this.#network.cut(from, to)
  }

  /** Ends `partition`. What was sent meanwhile arrives now. */
  heal(sender?: string): void {
    for (const [from, to] of this.#ways(sender)) this.#network.mend(from, to)
  }

  /** Whatever is sent takes so many milliseconds longer from now on, on top of what the topology gives the link; 0 ends it. */
  setLatency(ms: number, sender?: string): void {
    if (!(ms >= 0 && ms < Number.POSITIVE_INFINITY))
      throw new LabError('usage', `a latency is a number of milliseconds from 0 on, not ${ms}`)
    for (const [from, to] of this.#ways(sender)) this.#network.slow(from, to, this.#ownMs + ms)
  }

  /** Whether everything arrives, as soon as it can. */
  get isClear(): boolean {
    return this.#ways().every(
      ([from, to]) => !this.#network.isCut(from, to) && this.#network.slowMs(from, to) === this.#ownMs,
    )
  }

  #ways(sender?: string): [string, string][] {
    const [one, other] = this.#sides
    const names = [one.name, other.name]
    if (sender !== undefined && !names.includes(sender))
      throw new LabError('usage', `the link has the sides ${names.join(' and ')}, not ${sender}`)
    const sides = [
      [one, other],
      [other, one],
    ] as const
    return sides
      .filter(([{ name }]) => sender === undefined || sender === name)
      .flatMap(([from, to]) =>
        from.servers.flatMap((a) => to.servers.filter((b) => a !== b).map((b): [string, string] => [a, b])),
      )
  }
}
