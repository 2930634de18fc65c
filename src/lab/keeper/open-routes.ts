import type { Clock } from '../../base/clock.js'
import { parseHostPort } from '../../base/network.js'
import type { Random } from '../../base/random.js'
import { Link } from '../proxy/link.js'
import type { Route } from './routes.js'

/** Where a route listens, with the proxy that does. */
export interface OpenRoute extends Route {
  readonly link: Link
}

interface Surroundings {
  readonly clock: Clock
  readonly random: Random
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

const openRoute = async (route: Route, { clock, random }: Surroundings): Promise<OpenRoute> => {
  const { port, address, target = address, latencyMs, jitterMs } = route
  const distance = latencyMs ? { ms: latencyMs, ...(jitterMs ? { jitterMs } : {}) } : undefined
  const link = await Link.open({ port, target: parseHostPort(target), clock, random, distance })
  return { ...route, port: link.port, link }
}
