import type { PageLink, PageRequests, PageSurvey } from '../../lab/web/page-facts.js'
import { walOf } from '../parts/words.js'

/** What the curves need of one look at the clusters. */
export interface Sample {
  readonly atMs: number
  /** Entries that a secondary lacks, by its link; null where nobody knows. */
  readonly lag: Readonly<Record<string, number | null>>
  /** The last entry of its log, by cluster. */
  readonly wal: Readonly<Record<string, number>>
  /** Counted since its server began, by cluster. */
  readonly requests: Readonly<Record<string, PageRequests>>
}

const KEPT_MS = 15 * 60_000

/** The clusters are asked once a second, and more often when much happens, which no curve shows. */
const APART_MS = 800

/** Also on a machine whose clock is set back. */
const SAMPLES_MAX = KEPT_MS / APART_MS

/** The samples of the last quarter of an hour with those of this survey. */
export const withSurvey = (samples: readonly Sample[], survey: PageSurvey): readonly Sample[] => {
  const last = samples.at(-1)
  if (last && survey.atMs >= last.atMs && survey.atMs - last.atMs < APART_MS) return samples
  // Times of a clock that was set back would be drawn over one another.
  const before = last && survey.atMs < last.atMs ? [] : samples
  return [...before, toSample(survey)].slice(-SAMPLES_MAX).filter(({ atMs }) => atMs > survey.atMs - KEPT_MS)
}

/** Undefined while its primary is not known, of which nobody can tell how far behind it is. */
const linkKey = ({ kind, primary, secondary }: PageLink): string | undefined =>
  primary === null ? undefined : `${primary} → ${secondary}${kind === 'dr' ? ', DR' : ''}`

const toSample = ({ atMs, clusters, links }: PageSurvey): Sample => ({
  atMs,
  lag: Object.fromEntries(
    links.flatMap((link) => {
      const key = linkKey(link)
      return key === undefined ? [] : [[key, link.lagEntries]]
    }),
  ),
  wal: Object.fromEntries(
    clusters.flatMap((cluster) => {
      const wal = walOf(cluster)
      return wal === undefined ? [] : [[cluster.name, wal]]
    }),
  ),
  requests: Object.fromEntries(clusters.flatMap(({ name, requests }) => (requests ? [[name, requests]] : []))),
})
