import type { PortPair } from '../ports.js'

/**
 * One proxy of a lab: what cluster `from` gets when it dials an address of cluster `to`. Every cluster has its own proxy for
 * every address of every other one, so that a link can be cut between two clusters and nobody else.
 */
export interface Route {
  readonly from: string
  readonly to: string
  /** `host:port`, as `to` has and tells it. */
  readonly address: string
  /** Where the proxy listens on 127.0.0.1. */
  readonly port: number
}

/** Routes between all clusters, with ports from a list of free ones. */
export const planRoutes = (ports: ReadonlyMap<string, PortPair>, free: readonly number[]): Route[] => {
  const left = [...free]
  return [...ports.keys()].flatMap((from) =>
    [...ports].flatMap(([to, { api, cluster }]) =>
      to === from
        ? []
        : [api, cluster].map((port) => ({ from, to, address: `127.0.0.1:${port}`, port: left.pop() ?? 0 })),
    ),
  )
}

/** How many proxies clusters need. */
export const routeCount = (clusters: number): number => clusters * (clusters - 1) * 2

/** What the server of a cluster is configured with (`dial_routes`). */
export const dialRoutesOf = (routes: readonly Route[], cluster: string): string[] =>
  routes.filter(({ from }) => from === cluster).map(({ address, port }) => `${address}=127.0.0.1:${port}`)
