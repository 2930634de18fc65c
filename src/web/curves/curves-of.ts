import type { PageEvent } from '../../lab/web/page-facts.js'
import type { Sample } from './samples.js'

/** Curves of one chart. Null is a gap: the value is unknown. */
export interface Curves {
  /** Seconds since the epoch. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
}

export interface Line {
  readonly name: string
  readonly values: readonly (number | null)[]
  readonly isRefusals?: true
}

/** A shaded period, for example a step of a drill, in seconds since the epoch. */
export interface Phase {
  readonly from: number
  readonly to: number
  readonly hasFailed: boolean
}

type Value = (sample: Sample, before: Sample | undefined) => number | null

const draw = (samples: readonly Sample[], names: readonly string[], byName: (name: string) => Value): readonly Line[] =>
  names.map((name) => {
    const value = byName(name)
    return { name, values: samples.map((sample, index) => value(sample, samples[index - 1])) }
  })

const namesIn = (samples: readonly Sample[], part: 'lag' | 'wal' | 'requests'): readonly string[] =>
  [...new Set(samples.flatMap((sample) => Object.keys(sample[part])))].sort()

const timesOf = (samples: readonly Sample[]): readonly number[] => samples.map(({ atMs }) => atMs / 1000)

export const lagCurves = (samples: readonly Sample[]): Curves => ({
  times: timesOf(samples),
  lines: draw(
    samples,
    namesIn(samples, 'lag'),
    (name) =>
      ({ lag }) =>
        lag[name] ?? null,
  ),
})

export const walCurves = (samples: readonly Sample[]): Curves => ({
  times: timesOf(samples),
  lines: draw(
    samples,
    namesIn(samples, 'wal'),
    (name) =>
      ({ wal }) =>
        wal[name] ?? null,
  ),
})

/** Returns requests per second: all responses, and the rejected ones for clusters that rejected any. */
export const requestCurves = (samples: readonly Sample[]): Curves => {
  const names = namesIn(samples, 'requests')
  const handled = draw(samples, names, (name) => rateOf(name, 'handled'))
  const refused = draw(samples, names, (name) => rateOf(name, 'refused'))
  return {
    times: timesOf(samples),
    lines: [
      ...handled,
      ...refused
        .filter(({ values }) => values.some((value) => (value ?? 0) > 0))
        .map(({ name, values }) => ({ name: `${name}, refused`, values, isRefusals: true as const })),
    ],
  }
}

/**
 * Returns the rate since the previous sample. Returns null if a restart or a new active node has reset the counter,
 * because the requests in between are unknown.
 */
const rateOf =
  (name: string, what: 'handled' | 'refused'): Value =>
  ({ atMs, requests }, before) => {
    const [now, then] = [requests[name], before?.requests[name]]
    if (!now || !then || !before || now.server !== then.server || now[what] < then[what]) return null
    return ((now[what] - then[what]) * 1000) / (atMs - before.atMs)
  }

/** Returns the steps of drills in order. A running step ends at `nowMs`. */
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
  // A killed drill never reports the end of its step.
  if (from !== undefined && nowMs / 1000 - from < RUNNING_SECONDS_MAX)
    phases.push({ from, to: nowMs / 1000, hasFailed: false })
  return phases
}

const RUNNING_SECONDS_MAX = 120

/** Describes a curve as text: `A → B, DR: 0, at most 12`. */
export const describe = ({ lines }: Curves, unit: string): string =>
  lines
    .map(({ name, values }) => {
      const known = values.filter((value) => value !== null)
      const now = values.at(-1) ?? null
      return `${name}: ${now === null ? 'unknown' : round(now)}, at most ${round(Math.max(0, ...known))} ${unit}`
    })
    .join('; ')

const round = (value: number): number => Math.round(value * 10) / 10
