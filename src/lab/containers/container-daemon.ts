import type { LabDaemonConfig } from '../daemon/run-lab-daemon.js'
import { DAEMON_VARIABLE } from '../model/daemon-record.js'
import { dialRoutesOf, nodeOf, planLinks, type Route, routeCount } from '../model/routes.js'
import { planOf, serversOf, type Topology } from '../model/topology.js'
import { LAB_DAEMON_NODE_OPTIONS, LAB_DAEMON_PROGRAM } from '../processes/launch.js'

/** The host name of the lab daemon in the network of the containers, and the name of its compose service. */
export const LINKS = 'links'

/** Port of the control API in the container of the lab daemon. */
export const CONTROL_PORT = 8475
/** Port of the Toxiproxy API in this container: the default port of Toxiproxy clients. */
export const TOXIPROXY_PORT = 8474
/** The first port of the proxies in the container. */
const PROXY_PORT = 9000

/** The ports of a server in its container. */
export const SERVER_PORTS = { api: 8200, cluster: 8201 }

export const DAEMON_HEALTH: ['CMD', ...string[]] = ['CMD', 'curl', '-fsS', `http://127.0.0.1:${CONTROL_PORT}/`]

const serversWithClusters = (topology: Topology) =>
  topology.clusters.flatMap((cluster) => serversOf(topology, cluster).map((name) => ({ cluster, name })))

/** The host of a server in the network, which is also the name of its container or service. */
export const containerHostOf = (server: string): string => server.toLowerCase()

/**
 * Plans the proxies between the servers. The result depends only on the topology, so each container computes the same
 * plan.
 */
const planProxies = (topology: Topology): Route[] => {
  const servers = serversWithClusters(topology)
  const reaches = servers.map(
    ({ cluster, name }) =>
      [name, { ...nodeOf(cluster, name), host: containerHostOf(name), ports: SERVER_PORTS, hidden: [] }] as const,
  )
  const count = routeCount(servers.length)
  // `planLinks` takes ports from the end of the list.
  const ports = Array.from({ length: count }, (_, index) => PROXY_PORT + count - 1 - index)
  return planLinks(new Map(reaches), ports, topology)
}

/** Returns the routes of a server through the lab daemon, in the format of the setting `dial_routes`. */
export const dialRoutesThroughDaemon = (topology: Topology, server: string): string[] =>
  dialRoutesOf(planProxies(topology), server, LINKS)

/** Returns how a container of the image runs the lab daemon of a topology. */
export const planDaemonContainer = (topology: Topology) => {
  const clusters = serversWithClusters(topology).map(({ cluster, name }) => ({
    name,
    apiAddress: `${planOf(topology, cluster).tls ? 'https' : 'http'}://${containerHostOf(name)}:${SERVER_PORTS.api}`,
  }))
  const config: LabDaemonConfig = {
    lab: topology.name,
    directory: '/vault/logs',
    socket: CONTROL_PORT,
    host: '0.0.0.0',
    toxiproxyPort: TOXIPROXY_PORT,
    clusters,
    routes: planProxies(topology),
  }
  return {
    entrypoint: ['node', ...LAB_DAEMON_NODE_OPTIONS, `/opt/understudy/dist/${LAB_DAEMON_PROGRAM}`],
    user: 'vault',
    environment: { [DAEMON_VARIABLE]: JSON.stringify(config) },
  }
}

/** Returns the service of the lab daemon in a compose file. Its ports are published to this machine only. */
export const daemonService = (topology: Topology) => ({
  ...planDaemonContainer(topology),
  ports: [
    `127.0.0.1:\${LINKS_PORT:-${CONTROL_PORT}}:${CONTROL_PORT}`,
    `127.0.0.1:\${TOXIPROXY_PORT:-${TOXIPROXY_PORT}}:${TOXIPROXY_PORT}`,
  ],
  healthcheck: { test: DAEMON_HEALTH, interval: '1s', timeout: '30s', retries: 60 },
})
