import type { Duplex } from 'node:stream'
import type { Clock } from '../../base/clock.js'
import { type Network, systemNetwork } from '../../base/network.js'
import type { Random } from '../../base/random.js'
import { refuse } from '../documents/arguments.js'
import { requireValid } from '../documents/check.js'
import { mapWith, type Schema } from '../documents/schema.js'
import { isBetween } from '../daemon/active-fault.js'
import { type OpenRoute, openRoutes } from '../daemon/open-routes.js'
import { hiddenFrom, isRouteOf, NOWHERE, pairOf, planLinks, type Reach } from '../model/routes.js'
import { LabError } from '../model/lab-error.js'
import type { Way } from '../proxy/direction.js'
import { type FaultName, type Faults, LINK_FAULTS, TOXIC_NAMES } from '../proxy/link-faults.js'
import type { Link } from '../proxy/link.js'
import type { Topology } from '../model/topology.js'

/** The kind of the event that a change of a link emits. */
type LinkChange = 'fault-set' | 'fault-healed'

const NUMBER: Schema = { type: 'number', minimum: 0, title: 'a number of at least 0' }

/** Returns the schema of the numbers of a fault. */
const schemaOf = (name: FaultName): Schema => {
  const { fields } = LINK_FAULTS[name]
  const required = fields.filter(({ isOptional }) => !isOptional).map((field) => field.name)
  return mapWith(
    Object.fromEntries([...fields.map((field) => field.name), 'toxicity'].map((key) => [key, NUMBER])),
    required,
  )
}

const FAULTS = mapWith(Object.fromEntries(TOXIC_NAMES.map((name) => [name, schemaOf(name)])))

/**
 * The link between two clusters of a lab: all proxies through which one of them dials the other. By default, a fault
 * affects both directions. `up` is traffic from the cluster that opened the connection (the secondary), and `down` is
 * traffic to it.
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
  readonly #emit: (what: LinkChange, details: object) => void

  static {
    refuse(LabLink.prototype, 'a link', { setLatency: "use setFault('latency', { ms })" })
  }

  constructor(proxies: readonly Link[], emit: (what: LinkChange, details: object) => void = () => undefined) {
    this.#proxies = proxies
    this.#emit = emit
  }

  /** Whether the link has no fault and passes all traffic. */
  get isClear(): boolean {
    return this.#proxies.every((proxy) => proxy.isClear)
  }

  /** Whether all traffic is stopped in at least one direction, by `partition` or `hold`. */
  get isCut(): boolean {
    return this.#proxies.every((proxy) => proxy.isCut)
  }

  /** Drops all traffic, including the close of connections, like a cut cable. */
  partition(way: Way = 'both'): void {
    this.#change((proxy) => proxy.partition(way), 'fault-set', { fault: { name: 'partition' }, way })
  }

  /** Ends `partition`. Data sent in the meantime is delivered. */
  heal(way: Way = 'both'): void {
    this.#change((proxy) => proxy.heal(way), 'fault-healed', { way })
  }

  /** Buffers all data until `release`. */
  hold(way: Way = 'both'): void {
    this.#change((proxy) => proxy.hold(way), 'fault-set', { fault: { name: 'hold' }, way })
  }

  /** Ends `hold`. */
  release(way: Way = 'both'): void {
    this.#change((proxy) => proxy.release(way), 'fault-healed', { way })
  }

  /** Sets a fault, replacing one of the same name. Throws LabError `usage` if it is unknown or lacks a number. */
  setFault<N extends FaultName>(name: N, fault: NonNullable<Faults[N]>, way: Way = 'both'): void {
    // In JavaScript, a misspelled fault would otherwise have no effect.
    requireValid('setFault', FAULTS, { [name]: fault ?? {} })
    this.#change((proxy) => proxy.setFault(name, fault, way), 'fault-set', { fault: { name, ...fault }, way })
  }

  /** Ends `partition`, `hold` and all faults. */
  clearFaults(way: Way = 'both'): void {
    this.#change((proxy) => proxy.clearFaults(way), 'fault-healed', { way })
  }

  /** Resets current connections. New connections pass. */
  resetConnections(): void {
    for (const proxy of this.#proxies) proxy.resetConnections()
  }

  #change(change: (proxy: Link) => void, what: LinkChange, details: object): void {
    for (const proxy of this.#proxies) change(proxy)
    this.#emit(what, details)
  }
}

/** The network of one cluster, whose server processes run one after the other. */
export interface ClusterNetwork {
  /** Returns the network of a new process. `cut` closes its sockets. */
  begin(): Network
  /** Destroys the connections of the current process, and prevents new connections. */
  cut(): void
}

interface LinksOptions {
  readonly clock: Clock
  readonly random: Random
  /** The topology, which can define a permanent latency of links. */
  readonly topology: Topology
}

/**
 * The links of a lab. Each address of another cluster is dialed through a proxy for this pair of clusters. Hidden
 * addresses are unreachable.
 */
export class Links {
  #reaches: ReadonlyMap<string, Reach> = new Map()
  #routes: readonly OpenRoute[] = []
  readonly #emit: (between: readonly string[], what: LinkChange, details: object) => void

  /** `emit` is called with the two clusters for each fault that is set or healed. */
  constructor(emit: (between: readonly string[], what: LinkChange, details: object) => void = () => undefined) {
    this.#emit = emit
  }

  /** Opens a proxy for each dialing cluster and each address that it can dial. */
  async open(reaches: ReadonlyMap<string, Reach>, { topology, ...around }: LinksOptions): Promise<void> {
    this.#routes = await openRoutes(planLinks(reaches, [], topology), around)
    this.#reaches = reaches
  }

  /** Returns the link between two clusters or nodes. Throws LabError `usage` if there is none. */
  between(one: string, other: string): LabLink {
    const found = this.#routes.filter((route) => isBetween(route, one, other) || isBetween(route, other, one))
    if (found.length === 0) throw new LabError('usage', `there is no link between ${one} and ${other}`)
    return new LabLink(
      found.map(({ link }) => link),
      (what, details) => this.#emit([one, other], what, details),
    )
  }

  get routes(): readonly OpenRoute[] {
    return this.#routes
  }

  /** Returns the pairs of clusters or nodes with a faulty link, such as `A-C`. */
  findFaulty(): string[] {
    const faulty = this.#routes.filter(({ link }) => !link.isClear).map(pairOf)
    return [...new Set(faulty)]
  }

  /** Returns all links as one link. Its changes emit no events. */
  all(): LabLink {
    return new LabLink(this.#routes.map(({ link }) => link))
  }

  /** Returns the network of a cluster or node, which dials other clusters through the proxies. */
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

  /** Returns the proxy address for `address` when dialed by this server. */
  #addressFor(name: string, address: string): string {
    if (hiddenFrom(this.#reaches, name).includes(address)) return NOWHERE
    return this.#routes.find((route) => isRouteOf(route, name) && route.address === address)?.link.address ?? address
  }
}

/** The open sockets of a process, which are closed together when it is killed. */
class ProcessSockets {
  readonly #open = new Set<Duplex>()
  #hasEnded = false

  requireProcess(): void {
    if (this.#hasEnded) throw new Error('the server process has ended')
  }

  keep(socket: Duplex): Duplex {
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    if (this.#hasEnded) socket.destroy()
    return socket
  }

  destroy(): void {
    this.#hasEnded = true
    for (const socket of this.#open) socket.destroy()
  }
}
