import type { Duplex } from 'node:stream'
import type { Clock } from '../../base/clock.js'
import { type Network, systemNetwork } from '../../base/network.js'
import type { Random } from '../../base/random.js'
import { isBetween } from '../keeper/active-fault.js'
import { type OpenRoute, openRoutes } from '../keeper/open-routes.js'
import { hiddenFrom, isRouteOf, NOWHERE, planLinks, type Reach, type Route } from '../model/routes.js'
import { LabError } from '../model/lab-error.js'
import type { Way } from '../proxy/direction.js'
import { type FaultName, type Faults, LINK_FAULTS, TOXIC_NAMES } from '../proxy/link-faults.js'
import type { Link } from '../proxy/link.js'
import { requireKeys } from '../model/settings.js'
import type { Topology } from '../model/topology.js'

/** As events name it. */
type LinkChange = 'fault-set' | 'fault-healed'

/** Without types nobody says that a fault is misspelt, and a link with one would be as whole as before. */
const requireFault = (name: FaultName, fault: object): void => {
  const { fields = [] } = Object.hasOwn(LINK_FAULTS, name) ? LINK_FAULTS[name] : {}
  requireKeys('fault', { [name]: fault }, TOXIC_NAMES)
  const values = (fault ?? {}) as Readonly<Record<string, unknown>>
  const numbers = [...fields, { name: 'toxicity', isOptional: true }]
  requireKeys(
    `field of the fault ${name}`,
    values,
    numbers.map((field) => field.name),
  )
  for (const { name: field, isOptional } of numbers) {
    const value = values[field]
    if (value === undefined && isOptional) continue
    if (typeof value !== 'number' || !(value >= 0))
      throw new LabError('usage', `the fault ${name} needs the number "${field}"`)
  }
}

/**
 * The network between two clusters of a lab, whichever of them dials. A fault acts on one way or on both, which is the
 * default: `up` is what the dialling side sends, which is the secondary, and `down` what it receives.
 *
 * @example
 * import { type LabLink, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('pr-dr')
 * const link: LabLink = lab.link('A', 'C')
 * link.setFault('latency', { ms: 80, jitterMs: 20 })
 * link.partition('down')
 * link.clearFaults()
 * link.heal()
 * await lab.converged()
 */
export class LabLink {
  readonly #proxies: readonly Link[]
  readonly #tell: (what: LinkChange, details: object) => void

  constructor(proxies: readonly Link[], tell: (what: LinkChange, details: object) => void = () => undefined) {
    this.#proxies = proxies
    this.#tell = tell
  }

  /** Whether the link has no fault and passes everything. */
  get isClear(): boolean {
    return this.#proxies.every((proxy) => proxy.isClear)
  }

  /** Cuts the cable: no byte and no end of a connection passes. */
  partition(way: Way = 'both'): void {
    for (const proxy of this.#proxies) proxy.partition(way)
    this.#tell('fault-set', { fault: { name: 'partition' }, way })
  }

  /** Ends `partition`. What was sent meanwhile passes now. */
  heal(way: Way = 'both'): void {
    for (const proxy of this.#proxies) proxy.heal(way)
    this.#tell('fault-healed', { way })
  }

  /** Bytes wait until `release`. */
  hold(way: Way = 'both'): void {
    for (const proxy of this.#proxies) proxy.hold(way)
    this.#tell('fault-set', { fault: { name: 'hold' }, way })
  }

  /** Ends `hold`. */
  release(way: Way = 'both'): void {
    for (const proxy of this.#proxies) proxy.release(way)
    this.#tell('fault-healed', { way })
  }

  /** Puts a fault in the place of one of that name. Throws LabError `usage` for one that is not known or lacks a number. */
  setFault<N extends FaultName>(name: N, fault: NonNullable<Faults[N]>, way: Way = 'both'): void {
    requireFault(name, fault)
    for (const proxy of this.#proxies) proxy.setFault(name, fault, way)
    this.#tell('fault-set', { fault: { name, ...fault }, way })
  }

  /** Ends `partition`, `hold` and all faults. */
  clearFaults(way: Way = 'both'): void {
    for (const proxy of this.#proxies) proxy.clearFaults(way)
    this.#tell('fault-healed', { way })
  }

  /** Resets what is connected now; new connections pass. */
  resetConnections(): void {
    for (const proxy of this.#proxies) proxy.resetConnections()
  }
}

/** The network of one cluster, whose servers run one after the other. */
export interface ClusterNetwork {
  /** The network of a new process. Its sockets end with it. */
  begin(): Network
  /** The end of the process: its connections are destroyed, and what is left of it gets no new ones. */
  cut(): void
}

interface LinksOptions {
  readonly clock: Clock
  readonly random: Random
  /** The topology whose links may have a latency that is no fault. */
  readonly topology: Topology
}

/**
 * The links of a lab. Every address of another cluster is dialled through a proxy of this pair of clusters, and one that is
 * not to be reached leads nowhere.
 */
export class Links {
  #reaches: ReadonlyMap<string, Reach> = new Map()
  #routes: readonly OpenRoute[] = []
  readonly #tell: (between: readonly string[], what: LinkChange, details: object) => void

  /** Whoever wants to know is told what is set on a link and healed. */
  constructor(tell: (between: readonly string[], what: LinkChange, details: object) => void = () => undefined) {
    this.#tell = tell
  }

  /** Opens a proxy for each cluster that dials and each address that it may dial. */
  async open(reaches: ReadonlyMap<string, Reach>, { topology, ...around }: LinksOptions): Promise<void> {
    this.#routes = await openRoutes(planLinks(reaches, [], topology), around)
    this.#reaches = reaches
  }

  between(one: string, other: string): LabLink {
    const found = this.#routes.filter((route) => isBetween(route, one, other) || isBetween(route, other, one))
    if (found.length === 0) throw new LabError('usage', `there is no link between ${one} and ${other}`)
    return new LabLink(
      found.map(({ link }) => link),
      (what, details) => this.#tell([one, other], what, details),
    )
  }

  get routes(): readonly OpenRoute[] {
    return this.#routes
  }

  /** Pairs of clusters whose link is cut, held or has a fault, such as `A-C`; within a cluster pairs of nodes. */
  findFaulty(): string[] {
    const faulty = this.#routes.filter(({ link }) => !link.isClear).map(pairOf)
    return [...new Set(faulty)]
  }

  all(): LabLink {
    return new LabLink(this.#routes.map(({ link }) => link))
  }

  networkOf(name: string): ClusterNetwork {
    let own: ProcessSockets | undefined
    return {
      begin: () => {
        const sockets = new ProcessSockets()
        own = sockets
        return {
          dial: async (address, options) => {
            sockets.requireProcess()
            return sockets.keep(await systemNetwork.dial(this.#addressFor(name, address), options))
          },
          listen: async (address, onConnection) => {
            sockets.requireProcess()
            return systemNetwork.listen(address, (socket) => onConnection(sockets.keep(socket)))
          },
        }
      },
      cut: () => own?.destroy(),
    }
  }

  async close(): Promise<void> {
    const routes = this.#routes
    this.#routes = []
    await Promise.all(routes.map(({ link }) => link.close()))
  }

  /** The address that a server reaches when it dials `address`. */
  #addressFor(name: string, address: string): string {
    if (hiddenFrom(this.#reaches, name).includes(address)) return NOWHERE
    return this.#routes.find((route) => isRouteOf(route, name) && route.address === address)?.link.address ?? address
  }
}

const pairOf = ({ from, fromNode = from, to, toNode = to }: Route): string =>
  (from === to ? [fromNode, toNode] : [from, to]).sort().join('-')

/** The sockets that a process has open, so that they end together when it is killed. */
class ProcessSockets {
  readonly #open = new Set<Duplex>()
  #isGone = false

  requireProcess(): void {
    if (this.#isGone) throw new Error('the process is gone')
  }

  keep(socket: Duplex): Duplex {
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    if (this.#isGone) socket.destroy()
    return socket
  }

  destroy(): void {
    this.#isGone = true
    for (const socket of this.#open) socket.destroy()
  }
}
