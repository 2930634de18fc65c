import type { PortPair } from '../model/ports.js'
import { LAB_SETTINGS, type LabSettings, NODE_SETTINGS } from '../model/settings.js'

/** Settings of a server of a lab, wherever it runs. */
export interface ServerPlan {
  /** Of the cluster. */
  readonly name: string
  /** Of the server, where it is one of several nodes of the cluster. */
  readonly node?: string | undefined
  /** `host:port` of the cluster port as other clusters are told it, when something stands in front of it. */
  readonly advertised?: string | undefined
  /** The address that its API listens on; 127.0.0.1 unless said otherwise. */
  readonly apiHost?: string | undefined
  /** `host:port` of the API as others are told it, when something stands in front of it. */
  readonly advertisedApi?: string | undefined
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined
  /** The file of the key that it unseals itself with; with key shares otherwise. */
  readonly sealKeyFile?: string | undefined
  /** Settings of the stanza `understudy`, on top of those that labs have. */
  readonly settings: LabSettings
  /** The URL of the etcd that the nodes of its cluster share; without one, and without peers, they share memory. */
  readonly etcd?: string | undefined
  /** The other nodes, where each has the data. */
  readonly peers?: PeersPlan | undefined
  /** Routes to the addresses of other clusters (`dial_routes`). */
  readonly dialRoutes?: readonly string[] | undefined
  readonly logLevel?: string | undefined
}

/** How a node whose data is its own finds the others, and is found by them. */
interface PeersPlan {
  /** The APIs of all nodes: which of them it joins. */
  readonly apiAddresses: readonly string[]
  /** With which their certificates are verified. */
  readonly caFile?: string | undefined
  /** `host:port` of its own etcd for those of the others. */
  readonly etcdAddress: string
}

/** The configuration as its file would have it; without a path the data lies in memory. */
export const configOf = (
  {
    name,
    node,
    etcd,
    peers,
    apiHost = '127.0.0.1',
    advertised,
    advertisedApi,
    tls,
    sealKeyFile,
    settings,
    dialRoutes,
    logLevel,
  }: ServerPlan,
  ports: PortPair,
  path?: string,
) => ({
  listener: {
    tcp: {
      address: `${apiHost}:${ports.api}`,
      cluster_address: `127.0.0.1:${ports.cluster}`,
      ...(tls ? { tls_cert_file: tls.certFile, tls_key_file: tls.keyFile } : { tls_disable: true }),
    },
  },
  storage: storageOf({ name, node, etcd, peers }, path),
  ...(sealKeyFile === undefined
    ? {}
    : { seal: { static: { current_key_id: 'lab', current_key: `file://${sealKeyFile}` } } }),
  api_addr: `${tls ? 'https' : 'http'}://${advertisedApi ?? `127.0.0.1:${ports.api}`}`,
  cluster_addr: `https://${advertised ?? `127.0.0.1:${ports.cluster}`}`,
  cluster_name: name,
  ...(logLevel ? { log_level: logLevel } : {}),
  understudy: {
    ...LAB_SETTINGS,
    ...(node === undefined ? {} : NODE_SETTINGS),
    ...(node !== undefined && !peers && path !== undefined ? { data_dir: path } : {}),
    ...(peers ? { etcd_peer_address: peers.etcdAddress } : {}),
    ...(dialRoutes ? { dial_routes: dialRoutes } : {}),
    ...settings,
  },
})

const storageOf = (
  { name, node, etcd, peers }: Pick<ServerPlan, 'name' | 'node' | 'etcd' | 'peers'>,
  path: string | undefined,
) => {
  if (etcd !== undefined) return { etcd: { address: etcd, path: `/${name}/`, ha_enabled: 'true' } }
  if (peers && path !== undefined)
    return { raft: { path, node_id: node, retry_join: peers.apiAddresses.map(leaderOf(peers)) } }
  return node !== undefined || path === undefined ? { inmem: {} } : { raft: { path, node_id: name } }
}

const leaderOf =
  ({ caFile }: PeersPlan) =>
  (address: string) => ({ leader_api_addr: address, ...(caFile ? { leader_ca_cert_file: caFile } : {}) })
