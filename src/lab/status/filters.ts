import { tokensToTry } from '../keys/environment.js'
import { type AnyLab, requireCluster, withAnonymousClient } from '../model/cluster.js'
import { filterPath, parseFilter, type PathFilter } from '../requests/filters.js'
import type { FollowView } from './links.js'
import type { LabView } from './observe.js'

const ANSWER_MS = 1000
const FORBIDDEN = 403

/** Adds the path filters of performance secondaries. Their primaries show them only to a token of the lab. */
export const withFilters = async (lab: AnyLab, view: LabView): Promise<LabView> => {
  const links = view.links.map(async (link) => ({ ...link, filter: await findFilter(lab, view, link) }))
  return { ...view, links: await Promise.all(links) }
}

const findFilter = async (
  lab: AnyLab,
  { clusters }: LabView,
  { kind, primary, secondary }: FollowView,
): Promise<PathFilter | undefined> => {
  const above = clusters.find(({ name }) => name === primary)
  const id = clusters.find(({ name }) => name === secondary)?.performance.secondaryId ?? ''
  if (kind !== 'performance' || above === undefined || id === '') return undefined
  const cluster = requireCluster(lab, above.name)
  const ask = withAnonymousClient(
    { ...cluster, apiAddress: above.apiAddress },
    async (client) => {
      for (const token of tokensToTry(cluster, lab.clusters)) {
        const { status, json } = await client.send('GET', filterPath(id), { token })
        if (status !== FORBIDDEN) return parseFilter(json ?? {})
      }
      return undefined
    },
    ANSWER_MS,
  )
  return ask.catch(() => undefined)
}
