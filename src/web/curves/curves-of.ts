import type { PageEvent, PageLink, PageRequests, PageSurvey } from '../../lab/web/page-facts.js'
import { walOf } from '../parts/words.js'

/** The charted values of all clusters at one time. */
export interface Sample {
  readonly atMs: number
  /** Lag in entries, by the name of the link; null if unknown. */
  readonly lag: Readonly<Record<string, number | null>>
  /** The last log index, by the name of the cluster. */
  readonly wal: Readonly<Record<string, number>>
  /** Request counters since the start of the server, by cluster. */
  readonly requests: Readonly<Record<string, PageRequests>>
}

const WINDOW_MS = 15 * 60_000

/**
 * Minimum time between two samples, in milliseconds. The clusters are surveyed once per second, and more often when
 * many events occur.
 */
const SAMPLE_INTERVAL_MS_MIN = 800

/** Maximum number of samples. Also effective if the machine's clock is set back. */
const SAMPLES_MAX = WINDOW_MS / SAMPLE_INTERVAL_MS_MIN

/** Returns the samples of the last 15 minutes including this survey. */
export const withSurvey = (samples: readonly Sample[], survey: PageSurvey): readonly Sample[] => {
  const last = samples.at(-1)
  if (last && survey.atMs >= last.atMs && survey.atMs - last.atMs < SAMPLE_INTERVAL_MS_MIN) return samples
  // After the clock is set back, old samples would overlap new ones.
  const before = last && survey.atMs < last.atMs ? [] : samples
  return [...before, toSample(survey)].slice(-SAMPLES_MAX).filter(({ atMs }) => atMs > survey.atMs - WINDOW_MS)
}

/** Returns the name and the lag of a link; empty if its primary is unknown. */
const lagSampleOf = ({
  kind,
  primary,
  secondary,
  lagEntries,
}: PageLink): readonly (readonly [string, number | null])[] =>
  primary === null ? [] : [[`${primary} → ${secondary}${kind === 'dr' ? ', DR' : ''}`, lagEntries]]

const toSample = ({ atMs, clusters, links }: PageSurvey): Sample => ({
  atMs,
  lag: Object.fromEntries(links.flatMap(lagSampleOf)),
  wal: Object.fromEntries(
    clusters.flatMap((cluster) => {
      const wal = walOf(cluster)
      return wal === undefined ? [] : [[cluster.name, wal]]
    }),
  ),
  requests: Object.fromEntries(clusters.flatMap(({ name, requests }) => (requests ? [[name, requests]] : []))),
})

/** The curves of one chart. A value is null, which is a gap in the curve, if it is unknown. */
export interface Curves {
  /** Seconds since the epoch. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
}

export interface Line {
  readonly name: string
  readonly values: readonly (number | null)[]
  /** True for the rate of rejected requests, which has its own color. */
  readonly isRefusals?: true
}

/** A shaded period, for example a step of a drill, in seconds since the epoch. */
export interface Phase {
  readonly from: number
  readonly to: number
  readonly hasFailed: boolean
}

/** Returns the value of a curve at a sample. `before`: the previous sample. */
type Value = (sample: Sample, before: Sample | undefined) => number | null

/** Returns one line for each name that any sample has, sorted by name. */
const linesOf = (
  samples: readonly Sample[],
  part: 'lag' | 'wal' | 'requests',
  curve: (name: string) => Value,
): Line[] =>
  [...new Set(samples.flatMap((sample) => Object.keys(sample[part])))].sort().map((name) => {
    const value = curve(name)
    return { name, values: samples.map((sample, index) => value(sample, samples[index - 1])) }
  })

const curvesOf = (samples: readonly Sample[], lines: readonly Line[]): Curves => ({
  times: samples.map(({ atMs }) => atMs / 1000),
  lines,
})

/** Returns the curves of lags or of log indexes. */
export const plainCurves = (samples: readonly Sample[], part: 'lag' | 'wal'): Curves =>
  curvesOf(
    samples,
    linesOf(samples, part, (name) => (sample) => sample[part][name] ?? null),
  )

/** Returns requests per second: all requests, and rejected requests for clusters that rejected any. */
export const requestCurves = (samples: readonly Sample[]): Curves => {
  const refused = linesOf(samples, 'requests', (name) => rateOf(name, 'refused'))
    .filter(({ values }) => values.some((value) => (value ?? 0) > 0))
    .map(({ name, values }) => ({ name: `${name}, rejected`, values, isRefusals: true as const }))
  return curvesOf(samples, [...linesOf(samples, 'requests', (name) => rateOf(name, 'handled')), ...refused])
}

/**
 * Returns a function for the requests per second since the previous sample. It returns null if a restart or a new
 * active node has reset the counter, because the requests in between are unknown.
 */
const rateOf =
  (name: string, what: 'handled' | 'refused'): Value =>
  ({ atMs, requests }, before) => {
    const [now, then] = [requests[name], before?.requests[name]]
    if (!now || !then || !before || now.server !== then.server || now[what] < then[what]) return null
    return ((now[what] - then[what]) * 1000) / (atMs - before.atMs)
  }

/** Returns the steps of drills in order. A running step extends to `nowMs` (milliseconds since the epoch). */
export const phasesOf = (events: readonly PageEvent[], nowMs: number): readonly Phase[] => {
  const phases: Phase[] = []
  let from: number | undefined
  for (const { step, time } of events) {
    if (!step) continue
    const at = Date.parse(time) / 1000
    if (step.phase === 'begins') from = at
    else if (from !== undefined) {
      phases.push({ from, to: at, hasFailed: step.phase === 'failed' })
      from = undefined
    }
  }
  // A killed drill never reports the end of its step, so an old step without an end is omitted.
  if (from !== undefined && nowMs / 1000 - from < RUNNING_SECONDS_MAX)
    phases.push({ from, to: nowMs / 1000, hasFailed: false })
  return phases
}

/** Time after which a step without an end counts as the step of a killed drill. */
const RUNNING_SECONDS_MAX = 120

/** Describes the present and the highest value of each curve: `A → B, DR: 0, at most 12 entries`. */
export const describe = ({ lines }: Curves, unit: string): string =>
  lines
    .map(({ name, values }) => {
      const known = values.filter((value) => value !== null)
      const now = values.at(-1) ?? null
      return `${name}: ${now === null ? 'unknown' : round(now)}, at most ${round(Math.max(0, ...known))} ${unit}`
    })
    .join('; ')

const round = (value: number): number => Math.round(value * 10) / 10
