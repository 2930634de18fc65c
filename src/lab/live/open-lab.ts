import type { Clock } from '../../base/clock.js'
import {
  type AnyLab,
  type AttachedServer,
  type ClusterAccess,
  type ClusterKeys,
  isAttached,
  type LabRecord,
  serversIn,
  withClusterKeys,
} from '../model/cluster.js'
import type { ActiveFault } from '../daemon/active-fault.js'
import { LabDaemon } from '../daemon/lab-daemon.js'
import { followEvents, LabDaemonClient } from '../daemon/lab-daemon-client.js'
import { LabError } from '../model/lab-error.js'
import { requireAnyLab, saveLab } from '../model/lab-directory.js'
import { cannot, type LabKind, type ProcessVerb } from '../model/server-verbs.js'
import type { Topology } from '../model/topology.js'
import type { LabHost } from '../processes/lab-host.js'
import { atActiveNodes } from '../nodes/nodes.js'
import { workOnServers } from '../lifecycle/servers.js'
import { topologyOf } from '../topology/catalogue.js'
import { type LabEvents, type LabFaults, LiveLab } from './live-lab.js'
import { faultsOf, LocalEvents } from './local-events.js'

interface EventsAndFaults {
  readonly events: LabEvents
  readonly faults: LabFaults
}

/**
 * A lab with a record: of its own servers, or of externally managed ones. Of those, it can stop and start local containers.
 * Reads the record each time, since other commands may change it.
 */
class RecordedLab extends LiveLab {
  readonly kind: LabKind
  readonly name: string
  readonly topology: Topology
  readonly events: LabEvents
  protected readonly ownFaults: LabFaults
  readonly #host: LabHost

  constructor(lab: AnyLab, host: LabHost) {
    super()
    this.kind = kindOf(lab)
    this.name = lab.name
    const clusters = lab.clusters.map(({ name }) => name)
    this.topology = topologyOf(lab) ?? { name: lab.topology, about: '', clusters, links: [] }
    this.#host = host
    const { events, faults } = isAttached(lab) ? this.#localEvents() : keptEvents(lab, host.clock)
    this.events = events
    this.ownFaults = faults
  }

  get clock(): Clock {
    return this.#host.clock
  }

  get clusters(): readonly ClusterAccess[] {
    return this.#record().clusters.map((cluster) =>
      cluster.nodes ? { ...cluster, nodeAddresses: cluster.nodes.map(({ apiAddress }) => apiAddress) } : cluster,
    )
  }

  protected saveKeys(name: string, keys: Partial<ClusterKeys>): void {
    saveLab(withClusterKeys(this.#record(), name, keys))
  }

  protected async workOn(verb: ProcessVerb, cluster: string, timeoutMs: number): Promise<string> {
    const done: string[] = []
    const options = { timeoutMs, onProgress: (text: string) => void done.push(text) }
    await workOnServers(this.name, verb, [cluster], options, this.#host)
    await this.followActiveNodes()
    return done.at(-1) ?? ''
  }

  override async followActiveNodes(): Promise<void> {
    const before = this.#record()
    if (before.clusters.every(({ nodes }) => !nodes)) return
    for (const { name, ...cluster } of (await atActiveNodes<AnyLab>(before, this.#host.clock)).clusters) {
      const { apiAddress } = cluster
      const moved =
        'clusterAddress' in cluster ? { apiAddress, clusterAddress: cluster.clusterAddress } : { apiAddress }
      // Reads the record again, since other commands may have changed it during the failover of nodes.
      saveLab(withClusterKeys(this.#record(), name, moved))
    }
  }

  override async close(): Promise<void> {
    await super.close()
    if (this.kind !== 'process') await this.ownFaults.heal()
  }

  #record(): AnyLab {
    const lab = requireAnyLab(this.name)
    if (kindOf(lab) === this.kind) return lab
    throw new LabError('conflict', `the lab "${this.name}" is another one by now`)
  }

  /** Supports server faults only, while the handle is open: the links between attached clusters do not go through the lab. */
  #localEvents(): EventsAndFaults {
    const events = new LocalEvents(this.name, this.#host.clock, () => this.clusters)
    const faults = faultsOf(
      new LabDaemon([], {
        clock: this.#host.clock,
        clusters: () => this.clusters,
        tell: (draft) => events.tell(draft),
      }),
    )
    const set: LabFaults['set'] = async (request) => {
      if ('between' in request) throw cannot('a fault of a link', this.kind)
      return faults.set(request)
    }
    return { events, faults: { ...faults, set } }
  }
}

const kindOf = (lab: AnyLab): LabKind => {
  if (!isAttached(lab)) return 'process'
  const servers = lab.clusters.flatMap((cluster) => serversIn<AttachedServer>(cluster))
  return servers.every(({ container }) => container !== undefined) ? 'docker' : 'attached'
}

/** Returns the events and faults of a lab whose daemon records them. */
const keptEvents = (lab: LabRecord, clock: Clock): EventsAndFaults => {
  const daemon = new LabDaemonClient(lab.keeper.socket)
  const closing = new AbortController()
  const events: LabEvents = {
    append: (draft) => daemon.tell(draft),
    subscribe(onEvent) {
      const stop = new AbortController()
      const signal = AbortSignal.any([stop.signal, closing.signal])
      // Follows new events only. Earlier events are in the files.
      void daemon
        .events()
        .catch(() => [])
        .then((past) => followEvents(lab, past.at(-1)?.id ?? 0, { clock, signal, onEvent, onLost: () => undefined }))
      return () => stop.abort()
    },
    close: () => closing.abort(),
  }
  const heal = async (ids?: readonly number[]) => {
    if (!ids) return daemon.heal()
    const healed: ActiveFault[] = []
    for (const id of ids) healed.push(...(await daemon.heal(id)))
    return healed
  }
  return { events, faults: { set: (request) => daemon.set(request), list: () => daemon.list(), heal } }
}

/** Opens the lab of this name, of any kind. Throws a usage error if it does not exist, a conflict if its start failed. */
export const openLab = (name: string, host: LabHost): LiveLab => {
  const lab = requireAnyLab(name)
  if (lab.state === 'starting')
    throw new LabError('conflict', `the lab "${name}" is not up; "understudy down ${name}" removes what is left of it`)
  return new RecordedLab(lab, host)
}
