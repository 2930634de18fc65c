import type { SimulatedNode } from '../../server/simulated/node.js'
import { LabError } from '../lab-error.js'
import type { VirtualTime } from './virtual-time.js'

/** One server of a simulated lab, as the clusters of a lab work on theirs. */
export class SimulatedServer {
  readonly #node: SimulatedNode
  readonly #time: VirtualTime

  constructor(node: SimulatedNode, time: VirtualTime) {
    this.#node = node
    this.#time = time
  }

  get isRunning(): boolean {
    return this.#node.server !== undefined
  }

  get isActive(): boolean {
    return this.#node.server !== undefined && this.#node.server.node?.isServing !== false
  }

  get ports(): never {
    throw new LabError('usage', `${this.#node.name} is simulated and has no ports`)
  }

  get apiAddress(): string {
    return this.#node.apiAddress
  }

  get clusterAddress(): string {
    return `https://${this.#node.clusterAddress}`
  }

  async start(): Promise<void> {
    await this.#time.passUntil(() => this.#node.start())
  }

  stop(): Promise<void> {
    return this.#time.passUntil(() => this.#node.stop())
  }

  async crash(): Promise<void> {
    this.#node.crash(false)
  }
}
