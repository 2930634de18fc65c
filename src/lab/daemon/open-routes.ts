import type { Clock } from '../../base/clock.js'
import { parseHostPort } from '../../base/network.js'
import type { Random } from '../../base/random.js'
import { Link } from '../proxy/link.js'
import type { NodeProxy, Route } from '../model/routes.js'

/** A route whose proxy is open. `port`: the port on which the proxy listens. */
export interface OpenRoute extends Route {
  readonly link: Link
}

/** A named proxy: A dials the cluster port of B through `A-B-cluster`. */
export interface NamedProxy extends OpenRoute {
  readonly name: string
  /** True if a Toxiproxy client added the proxy to the proxies of the lab. */
  readonly isExtra: boolean
}

interface Surroundings {
  readonly clock: Clock
  readonly random: Random
  /** The address on which proxies listen. Default: 127.0.0.1. */
  readonly host?: string | undefined
  /** Whether a node behind a balancer is active. Evaluated for each connection. */
  readonly isActive?: ((node: string) => boolean) | undefined
}

/** Opens the proxies. If one cannot listen, closes all of them and rejects. The caller must close the proxies. */
export const openRoutes = async (routes: readonly Route[], around: Surroundings): Promise<OpenRoute[]> => {
  const results = await Promise.allSettled(routes.map((route) => openRoute(route, around)))
  const opened = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const failed = results.find((result) => result.status === 'rejected')
  if (!failed) return opened
  await Promise.all(opened.map(({ link }) => link.close()))
  throw failed.reason
}

const openRoute = async (route: Route, around: Surroundings): Promise<OpenRoute> => {
  const { isActive = () => false, ...options } = around
  const { port, address, target = address, behind, latencyMs, jitterMs } = route
  const distance = latencyMs ? { ms: latencyMs, ...(jitterMs ? { jitterMs } : {}) } : undefined
  const dialed = behind ? activeOf(behind, isActive) : parseHostPort(target)
  const link = await Link.open({ ...options, port, target: dialed, distance })
  return { ...route, port: link.port, link }
}

/**
 * Returns the address of the active node. If no active node is known, uses the first node, which redirects or forwards.
 */
const activeOf = (behind: readonly NodeProxy[], isActive: (node: string) => boolean) => ({
  host: '127.0.0.1',
  get port() {
    return (behind.find(({ node }) => isActive(node)) ?? behind[0])?.port ?? 0
  },
})

const ADDRESS_WORDS = ['api', 'cluster'] as const

/** Names the proxies. For each pair of clusters, `planLinks` plans the API address first, then the cluster address. */
export const nameProxies = (routes: readonly OpenRoute[]): NamedProxy[] =>
  routes.map((route, index) => {
    const { from, to } = route
    const before = routes.slice(0, index).filter((one) => one.from === from && one.to === to).length
    return { ...route, name: `${from}-${to}-${ADDRESS_WORDS[before] ?? before}`, isExtra: false }
  })
