import type { DrillResult, Sample } from '../drills/context/result.js'
import { drawTimeAxis, drawValueAxis, type Frame, roundUp, toX, toY } from './axis.js'
import { drawBoth, type Figure } from './figure.js'
import { formatNumber, formatOffset } from '../texts/format.js'
import { type Markup, markup } from './markup.js'
import { drawOutage, drawPhases, endOf } from './phases.js'

interface Point {
  readonly atMs: number
  /** Undefined: unknown. */
  readonly value: number | undefined
}

interface Curve {
  readonly name: string
  /** The CSS class; see `style.ts`. */
  readonly look: string
  readonly points: readonly Point[]
}

const LEFT = 52
const RIGHT = 14
const TOP = 26
const HEIGHT = 170
const BELOW = 26

/** Draws the lag of each secondary, in log entries. */
export const lagFigure = (result: DrillResult): Figure | undefined => {
  const links = [...new Set(result.samples.flatMap(({ lag }) => Object.keys(lag)))].sort()
  if (links.length === 0) return undefined
  const curves = links.map((link, index) => ({
    name: nameLink(link),
    look: `curve-${(index % 6) + 1}`,
    points: result.samples.map(({ atMs, lag }) => ({ atMs, value: lag[link] ?? undefined })),
  }))
  const about = curves.map(describeLag).join('; ')
  return drawCurves(
    result,
    'Replication lag, in log entries',
    curves,
    result.samples.some(({ lag }) => Object.values(lag).includes(null))
      ? `${about}. A gap is a time in which a cluster could not be asked.`
      : `${about}.`,
  )
}

/** Formats `A>B dr` for readers. */
const nameLink = (link: string): string =>
  link
    .replace('>', ' → ')
    .replace(/ dr$/, ', DR')
    .replace(/ performance$/, ', performance')

const describeLag = ({ name, points }: Curve): string => {
  const most = points.reduce<Point | undefined>(
    (top, point) => ((point.value ?? 0) > (top?.value ?? 0) ? point : top),
    undefined,
  )
  if (most?.value === undefined) return `${name}: no lag in any sample`
  const entries = most.value === 1 ? 'entry' : 'entries'
  return `${name}: at most ${formatNumber(most.value)} ${entries} behind, at ${formatOffset(most.atMs)}`
}

/** Draws the results of client requests over time, by success. */
export const requestFigure = (result: DrillResult): Figure | undefined => {
  const { samples } = result
  const total = (count: Count) => samples.reduce((sum, sample) => sum + count(sample), 0)
  const all = COUNTS.map(({ count }) => total(count))
  if (all.every((one) => one === 0)) return undefined
  const curves = COUNTS.map(({ name, look, count }) => ({ name, look, points: toRates(samples, count) }))
  const about = COUNTS.map(({ name }, index) => `${formatNumber(all[index] ?? 0)} ${name}`).join(', ')
  return drawCurves(
    result,
    'Requests of the clients, per second',
    curves,
    `In all ${about}.${result.rto?.fromMs == null ? '' : ' Red ground: no write was accepted.'}`,
  )
}

type Count = (sample: Sample) => number

const COUNTS: readonly { readonly name: string; readonly look: string; readonly count: Count }[] = [
  { name: 'writes accepted', look: 'curve-1', count: ({ accepted }) => accepted },
  { name: 'reads answered', look: 'curve-2', count: ({ reads }) => reads },
  {
    name: 'refused or unanswered',
    look: 'curve-bad',
    count: ({ refused, readsRefused }) => refused + readsRefused,
  },
]

/** Converts samples to rates. A sample counts since the previous one, the first since the start. */
const toRates = (samples: readonly Sample[], count: Count): Point[] =>
  samples.map((sample, index) => {
    const ms = sample.atMs - (samples[index - 1]?.atMs ?? 0)
    return { atMs: sample.atMs, value: ms > 0 ? (count(sample) * 1000) / ms : 0 }
  })

const drawCurves = (result: DrillResult, title: string, curves: readonly Curve[], about: string): Figure => {
  const highest = roundUp(Math.max(1, ...curves.flatMap(({ points }) => points.map(({ value }) => value ?? 0))))
  const legend = markup`<ul class="legend">${curves.map(
    ({ name, look }) =>
      markup`<li><svg width="22" height="10" aria-hidden="true"><path class="curve ${look}" d="M1 5H21"/></svg>${name}</li>`,
  )}</ul>`
  return {
    title,
    about,
    legend,
    drawing: drawBoth(
      title,
      () => TOP + HEIGHT + BELOW,
      (width) => {
        const frame = {
          left: LEFT,
          top: TOP,
          width: width - LEFT - RIGHT,
          height: HEIGHT,
          endMs: endOf(result),
          highest,
        }
        return markup`${drawPhases(result, frame)}${drawOutage(result, frame)}${drawValueAxis(frame)}${drawTimeAxis(frame)}${curves.map(({ look, points }) => drawCurve(frame, look, points))}`
      },
    ),
  }
}

/** Draws a step curve, since each count covers the time since the previous sample. Unknown values are gaps. */
const drawCurve = (frame: Frame, look: string, points: readonly Point[]): Markup => {
  let isOpen = false
  const line = points.map(({ atMs, value }, index) => {
    if (value === undefined) {
      isOpen = false
      return ''
    }
    const y = toY(frame, value)
    const start = isOpen ? `V${y}` : `M${toX(frame, points[index - 1]?.atMs ?? 0)} ${y}`
    isOpen = true
    return `${start}H${toX(frame, atMs)}`
  })
  return markup`<path class="curve ${look}" d="${line.join('')}"/>`
}
