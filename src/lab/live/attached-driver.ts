import type { Clock } from '../../base/clock.js'
import {
  type AttachedLab,
  type AttachedServer,
  type ClusterAccess,
  type ClusterKeys,
  isAttached,
  serversIn,
  withClusterKeys,
} from '../model/cluster.js'
import type { ActiveFault, FaultRequest } from '../daemon/active-fault.js'
import { LabDaemon } from '../daemon/lab-daemon.js'
import { LabError } from '../model/lab-error.js'
import { requireAnyLab, saveLab } from '../model/lab-directory.js'
import type { LabHost } from '../processes/lab-host.js'
import { atActiveNodes } from '../nodes/nodes.js'
import { LocalEvents } from './local-events.js'
import { type LabDriver, LiveLab } from './live-lab.js'
import { cannot, type ProcessVerb } from '../model/server-verbs.js'
import type { Topology } from '../model/topology.js'
import { topologyOf } from '../topology/catalogue.js'
import { workOnAttached } from '../lifecycle/containers.js'

/** Drives externally managed servers. If they are local containers, it can also stop and start them. */
class AttachedDriver implements LabDriver {
  readonly kind: 'attached' | 'docker'
  readonly name: string
  readonly topology: Topology
  readonly events: LocalEvents
  readonly #host: LabHost
  /** Holds the server faults while the handle is open. */
  readonly #daemon: LabDaemon
  /** The last known active nodes of multi-node clusters. */
  #active: ReadonlyMap<string, string> = new Map()

  constructor(lab: AttachedLab, host: LabHost) {
    this.name = lab.name
    const servers = lab.clusters.flatMap((cluster) => serversIn<AttachedServer>(cluster))
    this.kind = servers.every(({ container }) => container !== undefined) ? 'docker' : 'attached'
    const clusters = lab.clusters.map(({ name }) => name)
    this.topology = topologyOf(lab) ?? { name: lab.topology, about: '', clusters, links: [] }
    this.events = new LocalEvents(lab.name, host.clock, () => this.clusters())
    this.#host = host
    this.#daemon = new LabDaemon([], {
      clock: host.clock,
      clusters: () => this.clusters(),
      tell: (draft) => this.events.tell(draft),
    })
  }

  get clock(): Clock {
    return this.#host.clock
  }

  clusters(): readonly ClusterAccess[] {
    return this.#record().clusters.map((cluster) => ({
      ...cluster,
      apiAddress: this.#active.get(cluster.name) ?? cluster.apiAddress,
      ...(cluster.nodes ? { nodeAddresses: cluster.nodes.map(({ apiAddress }) => apiAddress) } : {}),
    }))
  }

  nodes(): readonly string[] {
    return this.#record().clusters.flatMap(({ nodes = [] }) => nodes.map(({ name }) => name))
  }

  async followActiveNodes(): Promise<void> {
    if (this.nodes().length === 0) return
    const { clusters } = await atActiveNodes(this.#record(), this.#host.clock)
    this.#active = new Map(clusters.map(({ name, apiAddress }) => [name, apiAddress]))
  }

  keepKeys(name: string, keys: Partial<ClusterKeys>): void {
    saveLab(withClusterKeys(this.#record(), name, keys))
  }

  async work(verb: ProcessVerb, name: string, timeoutMs: number): Promise<string> {
    const lab = this.#record()
    const done: string[] = []
    const options = { timeoutMs, onProgress: (text: string) => void done.push(text) }
    await workOnAttached(lab, verb, [name], options, this.#host)
    await this.followActiveNodes()
    return done.at(-1) ?? ''
  }

  /** Supports server faults only: the links between these clusters do not go through the lab. */
  async setFault(request: FaultRequest): Promise<ActiveFault> {
    if ('between' in request) throw cannot('a fault of a link', this.kind)
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

  /** Reads the record each time, since other commands may change it. */
  #record(): AttachedLab {
    const lab = requireAnyLab(this.name)
    if (isAttached(lab)) return lab
    throw new LabError('conflict', `the lab "${this.name}" is another one by now`)
  }
}

export const openAttachedLab = (lab: AttachedLab, host: LabHost): LiveLab => new LiveLab(new AttachedDriver(lab, host))
