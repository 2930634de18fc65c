import type { PortPair } from './ports.js'
import type { ClusterPlan, Topology } from './topology.js'

/**
 * One proxy of a lab, through which cluster `from` reaches an address of cluster `to`. Each ordered pair of clusters
 * has one proxy per address, so that a link fault affects only this pair.
 */
export interface Route {
  readonly from: string
  readonly to: string
  /**
   * In multi-node clusters: the node of `from` that dials through the proxy, and the node of `to` that is its target.
   */
  readonly fromNode?: string | undefined
  readonly toNode?: string | undefined
  /** `host:port` as `to` advertises it. */
  readonly address: string
  /** The port of the proxy: on 127.0.0.1, or in the container of the lab daemon. */
  readonly port: number
  /** The target, `host:port`, if it differs from the address. */
  readonly target?: string | undefined
  /** The nodes behind a load balancer, if there are several. The proxy forwards to the active node. */
  readonly behind?: readonly NodeProxy[] | undefined
  /** Permanent latency in each direction, in milliseconds. */
  readonly latencyMs?: number | undefined
  readonly jitterMs?: number | undefined
}

/** A node behind a load balancer, and its port on 127.0.0.1. */
export interface NodeProxy {
  readonly node: string
  readonly port: number
}

/** How other servers reach a server. */
export interface Reach {
  /** The cluster of a node in a multi-node cluster. Absent for a single server. */
  readonly cluster?: string | undefined
  readonly ports: PortPair
  /** The host of its own addresses. Default: 127.0.0.1. */
  readonly host?: string | undefined
  /** Its ports that other servers cannot reach. */
  readonly hidden: readonly number[]
  /** The ports of the load balancer in front of it. */
  readonly balancer?: PortPair | undefined
}

/** Returns the reach of a server with these ports. The plan of its cluster defines which of them are hidden. */
export const reachOf = (
  { reach = 'direct' }: Pick<ClusterPlan, 'reach'>,
  ports: PortPair,
  balancer: PortPair | undefined,
): Reach => {
  const hidden = { direct: [], 'cluster-port': [ports.api], 'load-balancer': [ports.api, ports.cluster] }[reach]
  return { ports, hidden, balancer }
}

/** Returns the property `cluster` of a reach. Empty for a single server, which has the name of its cluster. */
export const nodeOf = (cluster: string, server: string): Pick<Reach, 'cluster'> =>
  server === cluster ? {} : { cluster }

/** Returns the permanent latency of the link between two clusters. */
export const distanceOf = ({ links }: Pick<Topology, 'links'>, from: string, to: string) => {
  const ends = [from, to]
  const link = links.find(({ primary, secondary }) => ends.includes(primary) && ends.includes(secondary))
  return { latencyMs: link?.latencyMs, jitterMs: link?.jitterMs }
}

/** The `from` of routes to a load balancer, which no cluster of the lab uses to dial. */
const OUTSIDE = 'outside'

const LOCAL = '127.0.0.1'

/** An address on which nothing listens: port 1 is reserved for an obsolete service. */
export const NOWHERE = '127.0.0.1:1'

/**
 * Plans routes between all servers. Takes ports from the end of `free`. If none is left, the system chooses a port (0).
 */
export const planLinks = (
  reaches: ReadonlyMap<string, Reach>,
  free: readonly number[],
  topology: Pick<Topology, 'links'> = { links: [] },
): Route[] => {
  const left = [...free]
  return [...reaches].flatMap(([from, { cluster: near }]) =>
    [...reaches].flatMap(([to, reach]) => {
      if (to === from) return []
      const ends = { from: near ?? from, to: reach.cluster ?? to }
      const nodes = { ...(near && { fromNode: from }), ...(reach.cluster && { toNode: to }) }
      const distance = distanceOf(topology, ends.from, ends.to)
      return addressesOf(reach).map((addresses) => ({
        ...ends,
        ...nodes,
        ...addresses,
        port: left.pop() ?? 0,
        ...distance,
      }))
    }),
  )
}

/** Plans the routes between servers, and those of load balancers, which also serve clients outside the lab. */
export const planRoutes = (
  reaches: ReadonlyMap<string, Reach>,
  free: readonly number[],
  topology?: Pick<Topology, 'links'>,
): Route[] => {
  const balancers = new Set([...reaches.values()].flatMap(({ balancer }) => balancer ?? []))
  const behind = (balancer: PortPair) => [...reaches].filter(([, reach]) => reach.balancer === balancer)
  return [
    ...planLinks(reaches, free, topology),
    ...[...balancers].flatMap((balancer) => balancerRoutes(balancer, behind(balancer))),
  ]
}

const balancerRoutes = (balancer: PortPair, servers: readonly (readonly [string, Reach])[]): Route[] =>
  (['api', 'cluster'] as const).map((which) => {
    const behind = servers.map(([node, { ports }]): NodeProxy => ({ node, port: ports[which] }))
    const [[name, { cluster: to = name }]] = servers as [[string, Reach]]
    const port = balancer[which]
    const route = { from: OUTSIDE, to, address: `127.0.0.1:${port}`, port }
    return behind.length > 1 ? { ...route, behind } : { ...route, target: `127.0.0.1:${behind[0]?.port}` }
  })

/**
 * Returns the advertised API and cluster addresses, and their targets. A load balancer of several nodes has no fixed
 * target.
 */
const addressesOf = ({ host = LOCAL, ports, balancer, cluster }: Reach): Pick<Route, 'address' | 'target'>[] =>
  [
    { shown: balancer?.api, own: ports.api },
    { shown: balancer?.cluster, own: ports.cluster },
  ].map(({ shown, own }) =>
    shown === undefined || cluster !== undefined
      ? { address: `${host}:${shown ?? own}` }
      : { address: `${host}:${shown}`, target: `${host}:${own}` },
  )

/** Returns the number of routes between this number of servers: two addresses for each ordered pair of servers. */
export const routeCount = (servers: number): number => servers * (servers - 1) * 2

/** Whether this server dials through the route. */
export const isRouteOf = ({ from, fromNode = from }: Route, server: string): boolean => fromNode === server

/** Returns the pair of clusters that a route connects, such as `A-C`. Within a cluster, returns the pair of nodes. */
export const pairOf = ({ from, fromNode = from, to, toNode = to }: Omit<Route, 'address' | 'port'>): string =>
  (from === to ? [fromNode, toNode] : [from, to]).sort().join('-')

/** Returns the routes of a server in the format of the setting `dial_routes`. `host`: the host of the proxies. */
export const dialRoutesOf = (routes: readonly Route[], server: string, host = LOCAL): string[] =>
  routes.filter((route) => isRouteOf(route, server)).map(({ address, port }) => `${address}=${host}:${port}`)

/** Returns the addresses that a server must not reach. Excludes the addresses of its own cluster. */
export const hiddenFrom = (reaches: ReadonlyMap<string, Reach>, server: string): string[] => {
  const own = reaches.get(server)?.cluster ?? server
  const others = [...reaches].filter(([to, { cluster = to }]) => cluster !== own)
  return others.flatMap(([, { hidden }]) => hidden.map((port) => `127.0.0.1:${port}`))
}

/** Returns routes for the hidden addresses, to an address on which nothing listens. */
export const hiddenRoutesOf = (reaches: ReadonlyMap<string, Reach>, server: string): string[] =>
  hiddenFrom(reaches, server).map((address) => `${address}=${NOWHERE}`)
