import type { Clock } from '../../../base/clock.js'
import type { Random } from '../../../base/random.js'
import { EventLog } from '../../events/event-log.js'
import { LabDaemon } from '../lab-daemon.js'
import { serveControl } from './control-server.js'
import type { OwnEtcdPlan } from '../../model/cluster.js'
import { OwnEtcd } from '../own-etcd.js'
import type { Route } from '../../model/routes.js'
import { Proxies } from '../toxiproxy/proxies.js'
import type { HostedFiles, ServerHost } from '../server-host.js'
import { ToxiproxyControl } from '../toxiproxy/toxiproxy-server.js'
import { Watch, type WatchedCluster } from '../watch.js'

/** The configuration that the lab daemon reads when it starts. */
export interface LabDaemonConfig {
  readonly lab: string
  /** The directory of the lab. Event files are in it. */
  readonly directory: string
  readonly socket: string
  readonly routes: readonly Route[]
  readonly clusters: readonly WatchedCluster[]
  /** Port of the Toxiproxy API. Null: disabled. */
  readonly toxiproxyPort: number | null
  /** Only in an in-process lab. */
  readonly servers?: readonly HostedFiles[]
  /** Only in a lab of processes with multi-node clusters. */
  readonly etcd?: OwnEtcdPlan | undefined
}

interface Surroundings {
  readonly clock: Clock
  readonly random: Random
  /** The servers in this process. */
  readonly servers?: ServerHost
}

/** Runs the link proxies of a lab, records its events and serves its socket, until it is closed. */
export const runLabDaemon = async (
  { lab, directory, socket, routes, clusters, toxiproxyPort, etcd }: LabDaemonConfig,
  { clock, random, servers }: Surroundings,
): Promise<{ close(): Promise<void> }> => {
  const log = new EventLog({ lab, directory, clock, skewMsOf: (cluster) => daemon.skewMsOf(cluster) })
  const isSuccessor = log.after(0).length > 0
  const tell = log.append.bind(log)
  const watch: Watch = new Watch({ clusters, clock, tell, onSeen: (cluster) => daemon.remind(cluster) })
  const isActive = (node: string) => watch.isActive(node)
  const daemon = await LabDaemon.open({ routes, clusters: () => clusters, clock, random, tell, isActive, isSuccessor })
  log.append({ kind: 'keeper-started', details: {} })
  const toxiproxy = new ToxiproxyControl(new Proxies(daemon, { clock, random }))
  if (toxiproxyPort !== null)
    await toxiproxy.listenOn(toxiproxyPort).catch((error: Error) => {
      log.append({ kind: 'note', details: { text: `toxiproxy's control does not listen: ${error.message}` } })
    })
  const ownEtcd = etcd && new OwnEtcd(etcd, { clock, tell })
  const control = await serveControl({ daemon, log, toxiproxy, servers }, socket)
  watch.start()
  return {
    close: async () => {
      watch.close()
      await control.close()
      await toxiproxy.listenOn(null)
      await daemon.close()
      await ownEtcd?.close()
    },
  }
}
