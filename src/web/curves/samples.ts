import type { PageLink, PageRequests, PageSurvey } from '../../lab/web/page-facts.js'
import { walOf } from '../parts/words.js'

/** The values of one survey of the clusters for the curves. */
export interface Sample {
  readonly atMs: number
  /** Number of entries that a secondary lags behind, by link; null if unknown. */
  readonly lag: Readonly<Record<string, number | null>>
  /** The last log index, by cluster. */
  readonly wal: Readonly<Record<string, number>>
  /** Request counters since the start of the server, by cluster. */
  readonly requests: Readonly<Record<string, PageRequests>>
}

const KEPT_MS = 15 * 60_000

/**
 * Minimum distance of two samples. The clusters are surveyed once per second, and more often when many events occur.
 */
const APART_MS = 800

/** Also limits the samples if the machine's clock is set back. */
const SAMPLES_MAX = KEPT_MS / APART_MS

/** Returns the samples of the last 15 minutes including this survey. */
export const withSurvey = (samples: readonly Sample[], survey: PageSurvey): readonly Sample[] => {
  const last = samples.at(-1)
  if (last && survey.atMs >= last.atMs && survey.atMs - last.atMs < APART_MS) return samples
  // After the clock is set back, old samples would overlap new ones.
  const before = last && survey.atMs < last.atMs ? [] : samples
  return [...before, toSample(survey)].slice(-SAMPLES_MAX).filter(({ atMs }) => atMs > survey.atMs - KEPT_MS)
}

/** Returns undefined if the primary is unknown, because the lag is unknown then. */
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
