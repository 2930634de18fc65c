import type { PortPair } from './ports.js'
import type { ClusterPlan, Topology } from './topology.js'

/**
 * One proxy of a lab: what cluster `from` gets when it dials an address of cluster `to`. Every cluster has its own proxy for
 * every address of every other one, so that a link can be cut between two clusters and nobody else.
 */
export interface Route {
  readonly from: string
  readonly to: string
  /** The node of `from` whose proxy it is, and the node of `to` that it leads to, where these are several. */
  readonly fromNode?: string | undefined
  readonly toNode?: string | undefined
  /** `host:port`, as `to` has and tells it. */
  readonly address: string
  /** Where the proxy listens on 127.0.0.1. */
  readonly port: number
  /** Where it leads, `host:port`, when that is not the address itself. */
  readonly target?: string | undefined
  /** Several nodes, with a port of 127.0.0.1 each: it leads to the one that is active. */
  readonly behind?: readonly NodeDoor[] | undefined
  /** Every byte takes so long, each way. */
  readonly latencyMs?: number | undefined
  readonly jitterMs?: number | undefined
}

export interface NodeDoor {
  readonly node: string
  readonly port: number
}

/** How a server is reached by the others. */
export interface Reach {
  /** The cluster that it is one of several nodes of; without one it is a cluster by itself. */
  readonly cluster?: string | undefined
  readonly ports: PortPair
  /** Addresses of its own that nobody reaches. */
  readonly hidden: readonly number[]
  /** Ports in front of it which lead to its own. */
  readonly balancer?: PortPair | undefined
}

/** The reach of a server with these ports: the plan of its cluster says which of them are hidden. */
export const reachOf = (
  { reach = 'direct' }: Pick<ClusterPlan, 'reach'>,
  ports: PortPair,
  balancer: PortPair | undefined,
): Reach => {
  const hidden = { direct: [], 'cluster-port': [ports.api], 'load-balancer': [ports.api, ports.cluster] }[reach]
  return { ports, hidden, balancer }
}

/** The part of a reach that says which cluster a server is one of several nodes of. */
export const nodeOf = (cluster: string, server: string): Pick<Reach, 'cluster'> =>
  server === cluster ? {} : { cluster }

type Distance = Pick<Route, 'latencyMs' | 'jitterMs'>

/** The latency that the link of two clusters always has. */
const distanceOf = ({ links }: Pick<Topology, 'links'>, from: string, to: string): Distance => {
  const link = links.find(
    ({ primary, secondary }) => (primary === from && secondary === to) || (primary === to && secondary === from),
  )
  return { latencyMs: link?.latencyMs, jitterMs: link?.jitterMs }
}

/** The `from` of routes that lead to a balancer: no cluster of the lab dials through them. */
const OUTSIDE = 'outside'

/** A port on which nothing listens: it belongs to the system, and to a service that is no longer run. */
export const NOWHERE = '127.0.0.1:1'

/** Routes between all servers, with ports from a list of free ones; with those that the system chooses after its end. */
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
      return doorsOf(reach).map((door) => ({ ...ends, ...nodes, ...door, port: left.pop() ?? 0, ...distance }))
    }),
  )
}

/** Links, and balancers, which listen for others as well. */
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
    const behind = servers.map(([node, { ports }]): NodeDoor => ({ node, port: ports[which] }))
    const [[name, { cluster: to = name }]] = servers as [[string, Reach]]
    const port = balancer[which]
    const route = { from: OUTSIDE, to, address: `127.0.0.1:${port}`, port }
    return behind.length > 1 ? { ...route, behind } : { ...route, target: `127.0.0.1:${behind[0]?.port}` }
  })

/** API and cluster port: the address that others have, and where it leads. A balancer in front of several nodes knows that itself. */
const doorsOf = ({ ports, balancer, cluster }: Reach): Pick<Route, 'address' | 'target'>[] =>
  [
    { shown: balancer?.api, own: ports.api },
    { shown: balancer?.cluster, own: ports.cluster },
  ].map(({ shown, own }) =>
    shown === undefined || cluster !== undefined
      ? { address: `127.0.0.1:${shown ?? own}` }
      : { address: `127.0.0.1:${shown}`, target: `127.0.0.1:${own}` },
  )

/** How many proxies servers need. */
export const routeCount = (servers: number): number => servers * (servers - 1) * 2

/** Whether the route is that of this server. */
export const isRouteOf = ({ from, fromNode = from }: Route, server: string): boolean => fromNode === server

/** The routes of a server as it is configured with them (`dial_routes`). */
export const dialRoutesOf = (routes: readonly Route[], server: string): string[] =>
  routes.filter((route) => isRouteOf(route, server)).map(({ address, port }) => `${address}=127.0.0.1:${port}`)

/** The addresses that a server must not reach: those of its own cluster are not among them. */
export const hiddenFrom = (reaches: ReadonlyMap<string, Reach>, server: string): string[] => {
  const own = reaches.get(server)?.cluster ?? server
  const others = [...reaches].filter(([to, { cluster = to }]) => cluster !== own)
  return others.flatMap(([, { hidden }]) => hidden.map((port) => `127.0.0.1:${port}`))
}

/** Routes of them that lead nowhere. */
export const hiddenRoutesOf = (reaches: ReadonlyMap<string, Reach>, server: string): string[] =>
  hiddenFrom(reaches, server).map((address) => `${address}=${NOWHERE}`)
