import type { LabCluster } from '../in-process/in-process-cluster.js'
import type { LabNode } from '../in-process/in-process-node.js'
import type { VirtualLab } from './virtual-lab.js'
import type { SimulatedLabClock } from './virtual-time.js'

/**
 * A server of a simulated lab. It has no address: requests reach it through its clients.
 *
 * @example
 * import { type SimulatedLabNode, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('single', { simulated: true, nodes: 3 })
 * const before: SimulatedLabNode = lab.A.activeNode
 * await before.crash()
 */
export type SimulatedLabNode = Pick<
  LabNode,
  | ('name' | 'isRunning' | 'isActive' | 'client' | 'anonymous' | 'status')
  | ('start' | 'launch' | 'stop' | 'crash' | 'seal' | 'unseal')
>

/**
 * A cluster of a simulated lab: `lab.A`. It has no address and no `caFile`: requests reach it through its clients. In
 * JavaScript, `address` throws LabError `usage`, and `caFile` is undefined.
 *
 * @example
 * import { type SimulatedLabCluster, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('single', { simulated: true })
 * const cluster: SimulatedLabCluster = lab.A
 * await cluster.client.write('sys/mounts/kv', { type: 'kv' })
 */
export interface SimulatedLabCluster
  extends Pick<
    LabCluster,
    | ('name' | 'isRunning' | 'rootToken' | 'unsealKeys' | 'threshold' | 'client' | 'anonymous')
    | ('token' | 'useKeys' | 'takeRoot' | 'status' | 'open')
  > {
  /** Its servers, `A1` first. One of them is active. */
  readonly nodes: readonly SimulatedLabNode[]
  /** The active server, or a running server if none is active. For a single server, always that server. */
  readonly activeNode: SimulatedLabNode
  /** Waits for an active node, other than `except` if given. Rejects with LabError `timeout`. */
  active(except?: SimulatedLabNode): Promise<SimulatedLabNode>
  /** Starts with the existing data, and unseals with the matching keys of the lab. */
  start(): Promise<SimulatedLabCluster>
  /** Stops every node as SIGTERM does. The data stays. */
  stop(): Promise<Pick<SimulatedLabCluster, 'name' | 'start'>>
  /** Stops every node as SIGKILL does. Durable data stays. */
  crash(): Promise<Pick<SimulatedLabCluster, 'name' | 'start'>>
  /** Makes the active node step down. Resolves with the next active node. */
  stepDown(): Promise<SimulatedLabNode>
}

/**
 * A lab in virtual time, with its clusters by name: `lab.A`. It has clients, operations, links and a clock. Addresses,
 * TLS, drills, snapshots and events are unsupported: using them throws LabError `usage`.
 *
 * @example
 * import type { SimulatedLab } from 'understudy-lab'
 *
 * const nextDay = async (lab: SimulatedLab<'A' | 'B'>): Promise<string> => {
 *   await lab.clock.advance('24h')
 *   await lab.converged()
 *   return lab.history.hash
 * }
 */
export type SimulatedLab<Names extends string = string> = Omit<
  VirtualLab<Names>,
  'clusters' | 'cluster' | 'node' | 'access' | 'clock'
> & {
  readonly clock: SimulatedLabClock
  readonly clusters: readonly SimulatedLabCluster[]
  /** Returns `lab.A` for a name that is known only at run time. Throws LabError `usage` for an unknown name. */
  cluster(name: Names): SimulatedLabCluster
  /** Returns a server such as `A2`. Throws LabError `usage` with the existing names if there is none. */
  node(name: `${Names}${number}`): SimulatedLabNode
} & (string extends Names ? unknown : Readonly<Record<Names, SimulatedLabCluster>>)
