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
 * A cluster of a simulated lab: `lab.A`. It has no address: requests reach it through its clients.
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
  /** Its servers, `A1` first; one of them is active. */
  readonly nodes: readonly SimulatedLabNode[]
  /** The server that is active; while none is, one that runs. A single one is it always. */
  readonly activeNode: SimulatedLabNode
  /** The active node, once there is one; `except`: another one than that. Rejects with LabError `timeout`. */
  active(except?: SimulatedLabNode): Promise<SimulatedLabNode>
  /** Starts on the data that is there, and unseals it with the keys of the lab that fit. */
  start(): Promise<SimulatedLabCluster>
  /** Ends as after SIGTERM, every node. The data stays. */
  stop(): Promise<Pick<SimulatedLabCluster, 'name' | 'start'>>
  /** Ends as after SIGKILL, every node. What was durable stays. */
  crash(): Promise<Pick<SimulatedLabCluster, 'name' | 'start'>>
  /** The active node of several gives up the lead. Resolves with the one that is active then. */
  stepDown(): Promise<SimulatedLabNode>
}

/**
 * A lab in virtual time, with its clusters by name: `lab.A`. It has clients, operations, links and a clock; addresses, TLS,
 * drills, snapshots and events are for labs that are not simulated, and who asks for them all the same gets LabError `usage`.
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
  /** The same as `lab.A`, for names that are only known when the program runs. Throws LabError `usage`. */
  cluster(name: Names): SimulatedLabCluster
  /** One server, such as `A2`. Throws LabError `usage`, with the names there are. */
  node(name: `${Names}${number}`): SimulatedLabNode
} & (string extends Names ? unknown : Readonly<Record<Names, SimulatedLabCluster>>)
