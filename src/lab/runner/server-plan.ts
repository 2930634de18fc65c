import { parseDurationMs } from '../../base/duration.js'
import type { PortPair } from '../model/ports.js'
import { LAB_SETTINGS, type LabSettings, NODE_SETTINGS } from '../model/settings.js'
import { planOf, type Topology } from '../model/topology.js'

/** Settings of a server in any kind of lab. */
export interface ServerPlan {
  /** The name of the cluster. */
  readonly name: string
  /** The name of the server, if it is one of several nodes. */
  readonly node?: string | undefined
  /** Advertised cluster address, `host:port`, if the server is behind a proxy. */
  readonly advertised?: string | undefined
  /** The address on which its API listens. Default: 127.0.0.1. */
  readonly apiHost?: string | undefined
  /** Advertised API address, `host:port`, if the server is behind a proxy. */
  readonly advertisedApi?: string | undefined
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined
  /** The auto-unseal key file. Without one, key shares unseal the server. */
  readonly sealKeyFile?: string | undefined
  /** Settings of the stanza `understudy`, in addition to the default settings of labs. */
  readonly settings: LabSettings
  /** URL of the etcd that the nodes of the cluster share. If `etcd` and `peers` are absent, the nodes share memory. */
  readonly etcd?: string | undefined
  /** All nodes of the cluster, if each stores a copy of the data. */
  readonly peers?: PeersPlan | undefined
  /** Routes to the addresses of other clusters (`dial_routes`). */
  readonly dialRoutes?: readonly string[] | undefined
  readonly logLevel?: string | undefined
}

/** The addresses at which the nodes of a cluster with storage "raft" reach each other. */
interface PeersPlan {
  /** The API addresses of all nodes. A new node joins through one of these addresses. */
  readonly apiAddresses: readonly string[]
  /** The CA file for verifying their certificates. */
  readonly caFile?: string | undefined
  /** Peer address of the etcd of this node, `host:port`. */
  readonly etcdAddress: string
}

/**
 * Returns the configuration of a server, in the format of its file. `path`: data directory. Default: data is in memory.
 */
export const configOf = (plan: ServerPlan, ports: PortPair, path?: string) => {
  const { name, node, peers, apiHost = '127.0.0.1', advertised, advertisedApi, tls, sealKeyFile, dialRoutes } = plan
  return {
    listener: {
      tcp: {
        address: `${apiHost}:${ports.api}`,
        cluster_address: `127.0.0.1:${ports.cluster}`,
        ...(tls ? { tls_cert_file: tls.certFile, tls_key_file: tls.keyFile } : { tls_disable: true }),
      },
    },
    storage: storageOf(plan, path),
    ...(sealKeyFile && { seal: { static: { current_key_id: 'lab', current_key: `file://${sealKeyFile}` } } }),
    api_addr: `${tls ? 'https' : 'http'}://${advertisedApi ?? `127.0.0.1:${ports.api}`}`,
    cluster_addr: `https://${advertised ?? `127.0.0.1:${ports.cluster}`}`,
    cluster_name: name,
    ...(plan.logLevel && { log_level: plan.logLevel }),
    understudy: {
      ...LAB_SETTINGS,
      ...(node !== undefined && NODE_SETTINGS),
      ...(node !== undefined && !peers && path !== undefined && { data_dir: path }),
      ...(peers && { etcd_peer_address: peers.etcdAddress }),
      ...(dialRoutes && { dial_routes: dialRoutes }),
      ...plan.settings,
    },
  }
}

const storageOf = ({ name, node, etcd, peers }: ServerPlan, path: string | undefined) => {
  if (etcd !== undefined) return { etcd: { address: etcd, path: `/${name}/`, ha_enabled: 'true' } }
  if (peers && path !== undefined) {
    const { apiAddresses, caFile } = peers
    const join = apiAddresses.map((address) => ({
      leader_api_addr: address,
      ...(caFile && { leader_ca_cert_file: caFile }),
    }))
    return { raft: { path, node_id: node, retry_join: join } }
  }
  return node !== undefined || path === undefined ? { inmem: {} } : { raft: { path, node_id: name } }
}

/** Returns the settings of a cluster's servers from the topology. */
export const settingsOf = (topology: Topology, cluster: string): LabSettings => {
  const { license, version, settings } = planOf(topology, cluster)
  return { ...(license && { license }), ...(version && { reported_version: version }), ...settings }
}

/** Returns the lease of the active node in milliseconds. 0 for an invalid text, which the server rejects later. */
export const leaseMsOf = ({ leader_lease = NODE_SETTINGS.leader_lease }: LabSettings): number =>
  parseDurationMs(String(leader_lease)) ?? 0
