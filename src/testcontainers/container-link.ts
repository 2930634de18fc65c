import { type ActiveFault, findBetween, healEach, stopsTraffic } from '../lab/daemon/active-fault.js'
import type { LabDaemonClient } from '../lab/daemon/lab-daemon-client.js'
import type { FaultName, Faults, LinkFault } from '../lab/proxy/link-faults.js'

/**
 * Options of a fault of a link between containers.
 *
 * @example
 * import { type ContainerFaultOptions, UnderstudyLab } from 'understudy-lab/testcontainers'
 *
 * const short: ContainerFaultOptions = { isOneWay: true, forMs: 5_000 }
 * await using lab = await new UnderstudyLab('dr').start()
 * await lab.link('A', 'B').partition(short) // for five seconds, nothing that A sends reaches B
 */
export interface ContainerFaultOptions {
  /** If true, affects only traffic from the first cluster of the link to the second. Default: false. */
  readonly isOneWay?: boolean | undefined
  /** Removes the fault after this time, in milliseconds. By default, the fault stays until `heal`. */
  readonly forMs?: number | undefined
}

/**
 * The network link between two clusters of a lab in containers. Each method rejects with LabError: `usage` for an
 * invalid fault, or `conflict` if the lab daemon does not respond.
 *
 * @example
 * import { type ContainerLink, UnderstudyLab } from 'understudy-lab/testcontainers'
 *
 * await using lab = await new UnderstudyLab('pr-dr').start()
 * const link: ContainerLink = lab.link('A', 'C')
 * await link.setFault('latency', { ms: 80, jitterMs: 20 })
 * await link.partition()
 * await link.heal()
 * await lab.converged()
 */
export class ContainerLink {
  readonly #daemon: LabDaemonClient
  readonly #between: readonly [string, string]

  constructor(daemon: LabDaemonClient, between: readonly [string, string]) {
    this.#daemon = daemon
    this.#between = between
  }

  /** Drops all traffic, including the end of connections, like a cut cable. */
  partition(options?: ContainerFaultOptions): Promise<void> {
    return this.#set({ name: 'partition' }, options)
  }

  /** Delays all data until the fault is removed. */
  hold(options?: ContainerFaultOptions): Promise<void> {
    return this.#set({ name: 'hold' }, options)
  }

  /** Adds a fault. If several faults have the same name, the newest applies. */
  setFault<N extends FaultName>(
    name: N,
    fault: Omit<NonNullable<Faults[N]>, 'toxicity'>,
    options?: ContainerFaultOptions,
  ): Promise<void> {
    return this.#set({ name, ...fault } as unknown as LinkFault, options)
  }

  /** Removes all faults of the link. */
  async heal(): Promise<void> {
    await healEach((id) => this.#daemon.heal(id), await this.#faults())
  }

  /** Whether all traffic is stopped in at least one direction, by `partition` or `hold`. */
  get isCut(): Promise<boolean> {
    return this.#faults().then((faults) => faults.some(stopsTraffic))
  }

  async #faults(): Promise<readonly ActiveFault[]> {
    const [one, other] = this.#between
    return findBetween(await this.#daemon.list(), [one], [other])
  }

  async #set(fault: LinkFault, { isOneWay = false, forMs }: ContainerFaultOptions = {}): Promise<void> {
    await this.#daemon.set({ between: this.#between, fault, isOneWay, forMs })
  }
}
