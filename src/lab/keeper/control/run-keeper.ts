import type { Clock } from '../../../base/clock.js'
import type { Random } from '../../../base/random.js'
import { EventLog } from '../../events/event-log.js'
import { Keeper } from '../keeper.js'
import { serveKeeper } from './keeper-server.js'
import type { OwnEtcdPlan } from '../../model/cluster.js'
import { OwnEtcd } from '../own-etcd.js'
import type { Route } from '../../model/routes.js'
import { Proxies } from '../toxiproxy/proxies.js'
import type { HostedFiles, ServerHost } from '../server-host.js'
import { ToxiproxyControl } from '../toxiproxy/toxiproxy-control.js'
import { Watch, type WatchedCluster } from '../watch.js'

/** The configuration that the lab daemon reads at its start. */
export interface KeeperConfig {
  readonly lab: string
  /** Of the lab: events are written there. */
  readonly directory: string
  readonly socket: string
  readonly routes: readonly Route[]
  readonly clusters: readonly WatchedCluster[]
  /** Where toxiproxy's control listens; null: nowhere. */
  readonly toxiproxyPort: number | null
  /** In a lab that runs in one process. */
  readonly servers?: readonly HostedFiles[]
  /** In a lab whose clusters have several nodes, as processes. */
  readonly etcd?: OwnEtcdPlan | undefined
}

interface Surroundings {
  readonly clock: Clock
  readonly random: Random
  /** Servers that share this process. */
  readonly servers?: ServerHost
}

/** Holds the links of a lab, notes what happens in it, and answers on its socket, until it is closed. */
export const runKeeper = async (
  { lab, directory, socket, routes, clusters, toxiproxyPort, etcd }: KeeperConfig,
  { clock, random, servers }: Surroundings,
): Promise<{ close(): Promise<void> }> => {
  const log = new EventLog({ lab, directory, clock, skewMsOf: (cluster) => keeper.skewMsOf(cluster) })
  const isSuccessor = log.after(0).length > 0
  const tell = log.append.bind(log)
  const watch: Watch = new Watch({ clusters, clock, tell, onSeen: (cluster) => keeper.remind(cluster) })
  const isActive = (node: string) => watch.isActive(node)
  const keeper = await Keeper.open({ routes, clusters: () => clusters, clock, random, tell, isActive, isSuccessor })
  log.append({ kind: 'keeper-started', details: {} })
  const toxiproxy = new ToxiproxyControl(new Proxies(keeper, { clock, random }))
  if (toxiproxyPort !== null)
    await toxiproxy.listenOn(toxiproxyPort).catch((error: Error) => {
      log.append({ kind: 'note', details: { text: `toxiproxy's control does not listen: ${error.message}` } })
    })
  const ownEtcd = etcd && new OwnEtcd(etcd, { clock, tell })
  const control = await serveKeeper({ keeper, log, toxiproxy, servers }, socket)
  watch.start()
  return {
    close: async () => {
      watch.close()
      await control.close()
      await toxiproxy.listenOn(null)
      await keeper.close()
      await ownEtcd?.close()
    },
  }
}
