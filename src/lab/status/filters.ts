import { tokensToTry } from '../keys/environment.js'
import { type AnyLab, requireCluster, withAnonymousClient } from '../model/cluster.js'
import { filterPath, parseFilter, type PathFilter } from '../requests/filters.js'
import type { FollowView } from './links.js'
import type { LabView } from './observe.js'

const FORBIDDEN = 403

/** Adds the path filters of performance secondaries. Reading a filter requires a token of the lab. */
export const withFilters = async (lab: AnyLab, view: LabView, timeoutMs: number): Promise<LabView> => {
  const links = view.links.map(async (link) => ({ ...link, filter: await findFilter(lab, view, link, timeoutMs) }))
  return { ...view, links: await Promise.all(links) }
}

const findFilter = async (
  lab: AnyLab,
  { clusters }: LabView,
  { kind, primary, secondary }: FollowView,
  timeoutMs: number,
): Promise<PathFilter | undefined> => {
  const primaryView = clusters.find(({ name }) => name === primary)
  const id = clusters.find(({ name }) => name === secondary)?.performance.secondaryId ?? ''
  if (kind !== 'performance' || primaryView === undefined || id === '') return undefined
  const cluster = requireCluster(lab, primaryView.name)
  const ask = withAnonymousClient(
    { ...cluster, apiAddress: primaryView.apiAddress },
    async (client) => {
      for (const token of tokensToTry(cluster, lab.clusters)) {
        const { status, json } = await client.send('GET', filterPath(id), { token })
        if (status !== FORBIDDEN) return parseFilter(json ?? {})
      }
      return undefined
    },
    timeoutMs,
  )
  return ask.catch(() => undefined)
}
