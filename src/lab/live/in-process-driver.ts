import { systemClock } from '../../base/clock.js'
import type { ClusterAccess, ClusterKeys, LabAccess } from '../model/cluster.js'
import type { LabNode } from '../in-process/in-process-node.js'
import type { LabCluster } from '../in-process/in-process-cluster.js'
import { LabDaemon } from '../daemon/lab-daemon.js'
import type { OpenRoute } from '../daemon/open-routes.js'
import { type LabFaults, LiveLab } from './live-lab.js'
import { cannot, type ProcessVerb } from '../model/server-verbs.js'
import type { Topology } from '../model/topology.js'
import { faultsOf, type LocalEvents } from './local-events.js'

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

class LiveInProcessLab extends LiveLab {
  readonly kind = 'in-process'
  readonly name: string
  readonly clock = systemClock
  readonly events: LocalEvents
  protected readonly ownFaults: LabFaults
  readonly #lab: DrivenLab
  readonly #daemon: LabDaemon

  constructor(lab: DrivenLab, name: string) {
    super()
    this.#lab = lab
    this.name = name
    this.events = lab.localEvents
    this.#daemon = new LabDaemon(lab.routes, {
      clock: systemClock,
      clusters: () => this.clusters,
      tell: (draft) => this.events.tell(draft),
    })
    this.ownFaults = faultsOf(this.#daemon)
  }

  get topology(): Topology {
    return this.#lab.topology
  }

  get clusters(): readonly ClusterAccess[] {
    return this.#lab.access().clusters
  }

  protected saveKeys(name: string, keys: Partial<ClusterKeys>): void {
    this.#lab.cluster(name).useKeys(keys)
  }

  protected async workOn(verb: ProcessVerb, name: string): Promise<string> {
    if (verb === 'pause' || verb === 'resume' || verb === 'wipe') throw cannot(`"${verb}"`, this.kind)
    const cluster = this.#lab.clusters.find((one) => one.name === name)
    const place = cluster ?? this.#lab.node(name as `${string}${number}`)
    const what = `${cluster ? 'cluster' : 'node'} ${name}`
    if (verb === 'crash') await place.crash()
    else if (verb !== 'start') await place.stop()
    if (verb === 'crash' || verb === 'stop') return `${what} ${verb === 'stop' ? 'is stopped' : 'was killed'}`
    await place.start()
    await this.#daemon.remind(name)
    return `${what} is open at ${place.address}`
  }

  override async close(): Promise<void> {
    await super.close()
    await this.#daemon.heal()
  }
}

/** Opens a handle of a lab in this process. Closing it removes its faults. The creator of the lab closes the lab itself. */
export const openInProcessLab = (lab: DrivenLab, name = lab.topology.name): LiveLab => new LiveInProcessLab(lab, name)
