import type { Clock } from '../../base/clock.js'
import { parseHostPort } from '../../base/network.js'
import type { Random } from '../../base/random.js'
import { Link } from '../proxy/link.js'
import type { NodeDoor, Route } from '../model/routes.js'

/** Where a route listens, with the proxy that does. */
export interface OpenRoute extends Route {
  readonly link: Link
}

/** A proxy by its name, such as `A-B-cluster`: what A gets when it dials the cluster port of B. */
export interface NamedProxy extends OpenRoute {
  readonly name: string
  /** Made by somebody beside those of the lab. */
  readonly isExtra: boolean
}

interface Surroundings {
  readonly clock: Clock
  readonly random: Random
  /** Of several nodes behind a balancer, asked anew for each connection. */
  readonly isActive?: ((node: string) => boolean) | undefined
}

/** Rejects, with everything closed again, when one of the ports is taken. Whoever opens them closes them. */
export const openRoutes = async (routes: readonly Route[], around: Surroundings): Promise<OpenRoute[]> => {
  const results = await Promise.allSettled(routes.map((route) => openRoute(route, around)))
  const opened = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const failed = results.find((result) => result.status === 'rejected')
  if (!failed) return opened
  await Promise.all(opened.map(({ link }) => link.close()))
  throw failed.reason
}

const openRoute = async (route: Route, { clock, random, isActive = () => false }: Surroundings): Promise<OpenRoute> => {
  const { port, address, target = address, behind, latencyMs, jitterMs } = route
  const distance = latencyMs ? { ms: latencyMs, ...(jitterMs ? { jitterMs } : {}) } : undefined
  const where = behind ? activeOf(behind, isActive) : parseHostPort(target)
  const link = await Link.open({ port, target: where, clock, random, distance })
  return { ...route, port: link.port, link }
}

/** The first stands for all while none is known to be active: it knows where to go. */
const activeOf = (behind: readonly NodeDoor[], isActive: (node: string) => boolean) => ({
  host: '127.0.0.1',
  get port() {
    return (behind.find(({ node }) => isActive(node)) ?? behind[0])?.port ?? 0
  },
})

/** All of them are of the lab, in the order in which it opened them. */
export const nameProxies = (routes: readonly OpenRoute[]): NamedProxy[] =>
  routes.map((route, index) => ({ ...route, name: nameOf(routes, index), isExtra: false }))

const ADDRESS_WORDS = ['api', 'cluster'] as const

/** Between two clusters the addresses come in one order: that of the API, then that of the cluster port. */
const nameOf = (routes: readonly Route[], index: number): string => {
  const { from, to } = routes[index] ?? { from: '', to: '' }
  const before = routes.slice(0, index).filter((route) => route.from === from && route.to === to).length
  return `${from}-${to}-${ADDRESS_WORDS[before] ?? before}`
}
