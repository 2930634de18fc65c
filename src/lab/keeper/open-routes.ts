import type { Clock } from '../../base/clock.js'
import { parseHostPort } from '../../base/network.js'
import type { Random } from '../../base/random.js'
import { Link } from '../proxy/link.js'
import type { NodeDoor, Route } from './routes.js'

/** Where a route listens, with the proxy that does. */
export interface OpenRoute extends Route {
  readonly link: Link
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
