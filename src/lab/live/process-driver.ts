import type { Clock } from '../../base/clock.js'
import { type ClusterAccess, type ClusterKeys, type LabRecord, withClusterKeys } from '../model/cluster.js'
import type { ActiveFault, FaultRequest } from '../daemon/active-fault.js'
import { followEvents, LabDaemonClient } from '../daemon/lab-daemon-client.js'
import { LabError } from '../model/lab-error.js'
import { requireLab, requireOwnLab, saveLab } from '../model/lab-directory.js'
import type { LabHost } from '../processes/lab-host.js'
import { atActiveNodes } from '../nodes/nodes.js'
import { workOnServers } from '../lifecycle/servers.js'
import { type LabDriver, type LabEvents, LiveLab } from './live-lab.js'
import type { ProcessVerb } from '../model/server-verbs.js'
import type { Topology } from '../model/topology.js'
import { topologyOf } from '../topology/catalogue.js'
import type { EventDraft, LabEvent } from '../events/event.js'

/** Drives a lab of processes from its record. Reads the record each time, since other commands may change it. */
class ProcessDriver implements LabDriver {
  readonly kind = 'process'
  readonly name: string
  readonly topology: Topology
  readonly events: KeptEvents
  readonly #host: LabHost
  readonly #daemon: LabDaemonClient

  constructor(lab: LabRecord, host: LabHost) {
    this.name = lab.name
    this.topology = describeTopology(lab)
    this.events = new KeptEvents(lab, host.clock)
    this.#host = host
    this.#daemon = new LabDaemonClient(lab.keeper.socket)
  }

  get clock(): Clock {
    return this.#host.clock
  }

  clusters(): readonly ClusterAccess[] {
    return requireOwnLab(this.name).clusters.map((cluster) =>
      cluster.nodes ? { ...cluster, nodeAddresses: cluster.nodes.map(({ apiAddress }) => apiAddress) } : cluster,
    )
  }

  nodes(): readonly string[] {
    return requireOwnLab(this.name).clusters.flatMap(({ nodes = [] }) => nodes.map(({ name }) => name))
  }

  keepKeys(name: string, keys: Partial<ClusterKeys>): void {
    saveLab(withClusterKeys(requireOwnLab(this.name), name, keys))
  }

  async work(verb: ProcessVerb, cluster: string, timeoutMs: number): Promise<string> {
    const done: string[] = []
    await workOnServers(
      this.name,
      verb,
      [cluster],
      { timeoutMs, onProgress: (text) => void done.push(text) },
      this.#host,
    )
    await this.followActiveNodes()
    return done.at(-1) ?? ''
  }

  async followActiveNodes(): Promise<void> {
    if (this.nodes().length === 0) return
    const { clusters } = await atActiveNodes(requireLab(this.name), this.#host.clock)
    const addresses = new Map(
      clusters.map(({ name, apiAddress, clusterAddress }) => [name, { apiAddress, clusterAddress }]),
    )
    // Read again, since other commands may have changed it during the failover of nodes.
    const lab = requireLab(this.name)
    saveLab({ ...lab, clusters: lab.clusters.map((one) => ({ ...one, ...addresses.get(one.name) })) })
  }

  setFault(request: FaultRequest): Promise<ActiveFault> {
    return this.#daemon.set(request)
  }

  faults(): Promise<readonly ActiveFault[]> {
    return this.#daemon.list()
  }

  async heal(ids?: readonly number[]): Promise<readonly ActiveFault[]> {
    if (ids === undefined) return this.#daemon.heal()
    const healed: ActiveFault[] = []
    for (const id of ids) healed.push(...(await this.#daemon.heal(id)))
    return healed
  }

  async close(): Promise<void> {
    this.events.close()
  }
}

const describeTopology = (lab: LabRecord): Topology => {
  const known = topologyOf(lab)
  return known ?? { name: lab.topology, about: '', clusters: lab.clusters.map(({ name }) => name), links: [] }
}

/** Opens a running lab of processes. Throws a usage error if it does not exist, a conflict if its start failed. */
export const openProcessLab = (name: string, host: LabHost): LiveLab => {
  const lab = requireLab(name)
  if (lab.state !== 'running')
    throw new LabError('conflict', `the lab "${name}" is not up; "understudy down ${name}" removes what is left of it`)
  return new LiveLab(new ProcessDriver(lab, host))
}

/** Events of a lab whose daemon records them. */
class KeptEvents implements LabEvents {
  readonly #lab: LabRecord
  readonly #clock: Clock
  readonly #daemon: LabDaemonClient
  readonly #following = new Set<AbortController>()

  constructor(lab: LabRecord, clock: Clock) {
    this.#lab = lab
    this.#clock = clock
    this.#daemon = new LabDaemonClient(lab.keeper.socket)
  }

  append(draft: EventDraft): Promise<void> {
    return this.#daemon.tell(draft)
  }

  subscribe(listener: (event: LabEvent) => void): () => void {
    const stop = new AbortController()
    this.#following.add(stop)
    void this.#follow(listener, stop.signal)
    return () => {
      stop.abort()
      this.#following.delete(stop)
    }
  }

  close(): void {
    for (const stop of this.#following) stop.abort()
    this.#following.clear()
  }

  /** Follows new events only. Earlier events are in the files. */
  async #follow(onEvent: (event: LabEvent) => void, signal: AbortSignal): Promise<void> {
    const past = await this.#daemon.events().catch(() => [])
    const onLost = () => undefined
    await followEvents(this.#lab, past.at(-1)?.id ?? 0, { clock: this.#clock, signal, onEvent, onLost })
  }
}
