import { systemClock } from '../../base/clock.js'
import type { EventDraft } from '../events/event.js'
import type { LabAccess } from '../model/cluster.js'
import type { LabNode } from '../in-process/in-process-node.js'
import type { LabCluster } from '../in-process/in-process-cluster.js'
import { LabDaemon } from '../daemon/lab-daemon.js'
import type { OpenRoute } from '../daemon/open-routes.js'
import { LiveLab } from './live-lab.js'
import { cannot, type ProcessVerb } from '../model/server-verbs.js'
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
export const openInProcessLab = (lab: DrivenLab, name = lab.topology.name): LiveLab => {
  const { topology, localEvents: events } = lab
  const clusters = () => lab.access().clusters
  const emit = (draft: EventDraft) => events.emit(draft)
  const daemon = new LabDaemon(lab.routes, { clock: systemClock, clusters, emit })
  const work = async (verb: ProcessVerb, server: string): Promise<string> => {
    if (verb === 'pause' || verb === 'resume' || verb === 'wipe') throw cannot(`"${verb}"`, 'in-process')
    const cluster = lab.clusters.find((one) => one.name === server)
    const place = cluster ?? lab.node(server as `${string}${number}`)
    const what = `${cluster ? 'cluster' : 'node'} ${server}`
    if (verb === 'crash') await place.crash()
    else if (verb !== 'start') await place.stop()
    if (verb === 'crash' || verb === 'stop') return `${what} ${verb === 'stop' ? 'is stopped' : 'was killed'}`
    await place.start()
    await daemon.restoreFaults(server)
    return `${what} is ready at ${place.address}`
  }
  return new LiveLab({
    kind: 'in-process',
    links: 'here',
    name,
    topology,
    clock: systemClock,
    events,
    faults: faultsOf(daemon),
    clusters,
    saveKeys: (cluster, keys) => lab.cluster(cluster).useKeys(keys),
    work,
  })
}
