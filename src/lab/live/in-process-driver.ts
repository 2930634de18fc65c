import { systemClock } from '../../base/clock.js'
import type { ClusterAccess, ClusterKeys, LabAccess } from '../model/cluster.js'
import type { LabNode } from '../in-process/in-process-node.js'
import type { LabCluster } from '../in-process/in-process-cluster.js'
import type { ActiveFault, FaultRequest } from '../daemon/active-fault.js'
import { LabDaemon } from '../daemon/lab-daemon.js'
import type { OpenRoute } from '../daemon/open-routes.js'
import { type LabDriver, LiveLab } from './live-lab.js'
import { cannot, type ProcessVerb } from '../model/server-verbs.js'
import { unsealCluster } from '../keys/seals.js'
import type { Topology } from '../model/topology.js'
import type { LocalEvents } from './local-events.js'

/** The lab to drive. Its clusters and proxies run in this process. */
export interface DrivenLab {
  readonly topology: Topology
  readonly clusters: readonly LabCluster[]
  readonly routes: readonly OpenRoute[]
  readonly localEvents: LocalEvents
  access(): LabAccess
  cluster(name: string): LabCluster
  node(name: `${string}${number}`): LabNode
}

class InProcessDriver implements LabDriver {
  readonly kind = 'in-process'
  readonly name: string
  readonly clock = systemClock
  readonly events: LocalEvents
  readonly #lab: DrivenLab
  readonly #daemon: LabDaemon

  constructor(lab: DrivenLab, name: string) {
    this.#lab = lab
    this.name = name
    this.events = lab.localEvents
    this.#daemon = new LabDaemon(lab.routes, {
      clock: systemClock,
      clusters: () => this.clusters(),
      tell: (draft) => this.events.tell(draft),
    })
  }

  get topology(): Topology {
    return this.#lab.topology
  }

  clusters(): readonly ClusterAccess[] {
    return this.#lab.access().clusters
  }

  nodes(): readonly string[] {
    return this.#lab.clusters.flatMap(({ nodes }) => (nodes.length > 1 ? nodes.map((node) => node.name) : []))
  }

  keepKeys(name: string, keys: Partial<ClusterKeys>): void {
    this.#lab.cluster(name).useKeys(keys)
  }

  async work(verb: ProcessVerb, name: string): Promise<string> {
    if (this.nodes().includes(name)) return this.#workOnNode(verb, this.#lab.node(name as `${string}${number}`))
    const cluster = this.#lab.cluster(name)
    switch (verb) {
      case 'start':
        return this.#start(name)
      case 'stop':
        await cluster.stop()
        return `cluster ${name} is stopped`
      case 'restart':
        await cluster.stop()
        return this.#start(name)
      case 'crash':
        await cluster.crash()
        return `cluster ${name} was killed`
      case 'pause':
      case 'resume':
      case 'wipe':
        throw cannot(`"${verb}"`, this.kind)
    }
  }

  async #workOnNode(verb: ProcessVerb, node: LabNode): Promise<string> {
    if (verb === 'pause' || verb === 'resume' || verb === 'wipe') throw cannot(`"${verb}"`, this.kind)
    if (verb === 'restart') await node.stop()
    await node[verb === 'restart' ? 'start' : verb]()
    return `${verb} ${node.name}`
  }

  async #start(name: string): Promise<string> {
    const cluster = this.#lab.cluster(name)
    await cluster.start()
    const clusters = this.clusters()
    const access = clusters.find((one) => one.name === name)
    if (access) await unsealCluster({ name: this.name, clusters }, access)
    await this.#daemon.remind(name)
    return `cluster ${name} is open at ${cluster.apiAddress}`
  }

  setFault(request: FaultRequest): Promise<ActiveFault> {
    return this.#daemon.set(request)
  }

  async faults(): Promise<readonly ActiveFault[]> {
    return this.#daemon.active
  }

  heal(ids?: readonly number[]): Promise<readonly ActiveFault[]> {
    return this.#daemon.heal(ids)
  }

  async close(): Promise<void> {
    this.events.close()
    await this.#daemon.heal()
  }
}

/** Opens a handle of a lab in this process. Closing it removes its faults. The creator of the lab closes the lab itself. */
export const openInProcessLab = (lab: DrivenLab, name = lab.topology.name): LiveLab =>
  new LiveLab(new InProcessDriver(lab, name))
