import type { Clock } from '../../base/clock.js'
import {
  type AnyLab,
  type AttachedServer,
  isAttached,
  type DaemonLab,
  hasDaemon,
  serversIn,
  withClusterKeys,
} from '../model/cluster.js'
import type { ActiveFault } from '../daemon/active-fault.js'
import { LabDaemon } from '../daemon/lab-daemon.js'
import { followEvents, LabDaemonClient, listEvents } from '../daemon/lab-daemon-client.js'
import { findLastPosition } from '../daemon/last-position.js'
import { LabError } from '../model/lab-error.js'
import { noDaemon, requireAnyLab, saveLab } from '../model/lab-directory.js'
import type { LabKind } from '../model/server-verbs.js'
import type { LabHost } from '../processes/lab-host.js'
import { atActiveNodes } from '../nodes/nodes.js'
import { workOnServers } from '../lifecycle/servers.js'
import { topologyOf } from '../topology/catalogue.js'
import { type LabDriver, type LabEvents, type LabFaults, LiveLab } from './live-lab.js'
import { faultsOf, LocalEvents } from './local-events.js'

type EventsAndFaults = Pick<LabDriver, 'events' | 'faults' | 'findLastPosition' | 'links'>

export const kindOf = (lab: AnyLab): LabKind => {
  if (!isAttached(lab)) return lab.isInProcess ? 'in-process' : 'process'
  const servers = lab.clusters.flatMap((cluster) => serversIn<AttachedServer>(cluster))
  return servers.every(({ container }) => container !== undefined) ? 'docker' : 'attached'
}

/** Returns the events and faults of a lab with a lab daemon, which records them. */
const daemonEvents = (lab: DaemonLab, clock: Clock): EventsAndFaults => {
  const daemon = new LabDaemonClient(lab.keeper.socket, lab.name)
  const closing = new AbortController()
  const events: LabEvents = {
    append: (draft) => daemon.emit(draft),
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
  return {
    events,
    faults: { set: (request) => daemon.set(request), list: () => daemon.list(), heal },
    findLastPosition: async (cluster) => findLastPosition(await listEvents(lab), cluster),
    links: 'daemon',
  }
}

/**
 * Returns the events and faults of a lab without a lab daemon: only faults of servers, and only while the handle is
 * open.
 */
const localEvents = (name: string, clock: Clock, clusters: LabDriver['clusters']): EventsAndFaults => {
  const events = new LocalEvents(name, clock, clusters)
  const faults = faultsOf(new LabDaemon([], { clock, clusters, emit: (draft) => events.emit(draft) }))
  const set: LabFaults['set'] = async (request) => {
    if ('between' in request) throw noDaemon(name)
    return faults.set(request)
  }
  return { events, faults: { ...faults, set }, links: 'none' }
}

/**
 * Opens a handle of the lab of this name. Reads the record of the lab for each access, because other commands may
 * change it. Throws LabError `usage` if the lab does not exist, and `conflict` if its start is incomplete or failed.
 */
export const openLab = (name: string, host: LabHost): LiveLab => {
  const lab = requireAnyLab(name)
  if (lab.state === 'starting')
    throw new LabError('conflict', `the start of the lab "${name}" is incomplete; "understudy down ${name}" removes it`)
  const { clock } = host
  const kind = kindOf(lab)
  const read = (): AnyLab => {
    const now = requireAnyLab(name)
    if (kindOf(now) === kind) return now
    throw new LabError('conflict', `the lab "${name}" was replaced by a lab of another kind; run the command again`)
  }
  const clusters = () =>
    read().clusters.map((cluster) =>
      cluster.nodes ? { ...cluster, nodeAddresses: cluster.nodes.map(({ apiAddress }) => apiAddress) } : cluster,
    )
  const followActiveNodes = async () => {
    const before = read()
    if (before.clusters.every(({ nodes }) => !nodes)) return
    for (const cluster of (await atActiveNodes<AnyLab>(before, clock)).clusters) {
      const { apiAddress } = cluster
      const moved =
        'clusterAddress' in cluster ? { apiAddress, clusterAddress: cluster.clusterAddress } : { apiAddress }
      // Reads the record again, since other commands may have changed it during the failover of nodes.
      saveLab(withClusterKeys(read(), cluster.name, moved))
    }
  }
  const names = lab.clusters.map((cluster) => cluster.name)
  return new LiveLab({
    kind,
    name,
    topology: topologyOf(lab) ?? { name: lab.topology, about: '', clusters: names, links: [] },
    clock,
    ...(hasDaemon(lab) ? daemonEvents(lab, clock) : localEvents(name, clock, clusters)),
    clusters,
    saveKeys: (cluster, keys) => saveLab(withClusterKeys(read(), cluster, keys)),
    async work(verb, cluster, timeoutMs) {
      let done = ''
      const onProgress = (text: string) => {
        done = text
      }
      await workOnServers(name, verb, [cluster], { timeoutMs, onProgress }, host)
      await followActiveNodes()
      return done
    },
    followActiveNodes,
  })
}
