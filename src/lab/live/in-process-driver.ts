import { systemClock } from '../../base/clock.js'
import type { EventDraft } from '../events/event.js'
import { NOT_RUNNING, type ServerControls, workOn } from '../lifecycle/server-controls.js'
import { type ClusterAccess, describeServer, type LabAccess } from '../model/cluster.js'
import type { LabNode } from '../in-process/in-process-node.js'
import type { LabCluster } from '../in-process/in-process-cluster.js'
import { LabDaemon } from '../daemon/lab-daemon.js'
import type { OpenRoute } from '../daemon/open-routes.js'
import { LiveLab } from './live-lab.js'
import type { Topology } from '../model/topology.js'
import { faultsOf, type LocalEvents } from './local-events.js'

/** A lab whose clusters and proxies run in this process. */
export interface DrivenLab {
  readonly topology: Topology
  readonly clusters: readonly LabCluster[]
  readonly routes: readonly OpenRoute[]
  readonly localEvents: LocalEvents
  access(): LabAccess
  cluster(name: string): LabCluster
  node(name: `${string}${number}`): LabNode
}

/**
 * Opens a handle of a lab in this process. Closing the handle removes all faults of the handle, but the lab continues.
 */
export const openInProcessLab = (lab: DrivenLab): LiveLab => {
  const { topology, localEvents: events } = lab
  const clusters = () => lab.access().clusters
  const emit = (draft: EventDraft) => events.emit(draft)
  const daemon = new LabDaemon(lab.routes, { clock: systemClock, clusters, emit })
  const controlsOf = (place: ClusterAccess): ServerControls => {
    const server = lab.clusters.find((one) => one.name === place.name) ?? lab.node(place.name as `${string}${number}`)
    return {
      lab: lab.access(),
      place,
      findDown: async () => (server.isRunning ? undefined : NOT_RUNNING),
      start: async () => {
        await server.start()
        await daemon.restoreFaults(place.name)
        return `${describeServer(place.name)} is ready at ${server.address}`
      },
      stop: async () => void (await server.stop()),
      kill: async () => void (await server.crash()),
    }
  }
  const live: LiveLab = new LiveLab({
    kind: 'in-process',
    links: 'here',
    name: topology.name,
    topology,
    clock: systemClock,
    events,
    faults: faultsOf(daemon),
    clusters,
    saveKeys: (cluster, keys) => lab.cluster(cluster).useKeys(keys),
    work: (verb, server) => workOn(controlsOf(live.cluster(server)), verb),
  })
  return live
}
