import type { DrillResult, Sample, StepResult } from '../drills/context/result.js'
import { formatMs, formatNumber, formatOffset } from '../texts/format.js'
import {
  drawBoth,
  drawTimeAxis,
  drawValueAxis,
  type Figure,
  type Frame,
  type Page,
  round,
  roundUp,
  toX,
  toY,
} from './chart.js'
import { type Markup, markup } from './markup.js'

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

/** Returns the end of the time axis of a drill. */
const endOf = ({ durationMs, steps, samples }: DrillResult): number =>
  Math.max(durationMs, ...steps.map(({ startedMs, tookMs }) => startedMs + tookMs), samples.at(-1)?.atMs ?? 0, 1)

/** Narrower stripes are shaded without a number. */
const NUMBER_WIDTH = 16

/** Draws each step of the drill as a shaded stripe with its number above, identical in all charts. */
const drawPhases = (result: DrillResult, frame: Frame): Markup => {
  const { top, height } = frame
  let free = 0
  return markup`${result.steps.map(({ startedMs, tookMs, outcome }, index) => {
    const x = toX(frame, startedMs)
    const width = round(Math.max(toX(frame, startedMs + tookMs) - x, 1))
    const middle = round(x + width / 2)
    const isShown = middle - NUMBER_WIDTH / 2 >= free
    if (isShown) free = middle + NUMBER_WIDTH / 2
    const look = outcome === 'failed' ? 'phase phase-bad' : index % 2 === 0 ? 'phase' : 'phase phase-odd'
    return markup`<rect class="${look}" x="${x}" y="${top}" width="${width}" height="${height}"/>${isShown && markup`<text class="tick phase-number" x="${middle}" y="${top - 8}" text-anchor="middle">${index + 1}</text>`}`
  })}`
}

/** Draws the time in which writes were not accepted. */
const drawOutage = ({ rto }: DrillResult, frame: Frame): Markup | undefined => {
  if (!rto || rto.fromMs === null) return undefined
  const x = toX(frame, rto.fromMs)
  const width = round(toX(frame, rto.toMs ?? frame.endMs) - x)
  return markup`<rect class="outage" x="${x}" y="${frame.top}" width="${width}" height="${frame.height}"/>`
}

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

const STEPS_TOP = 8
const EVENTS = 22
const STEPS_RIGHT = 70

/** One line per step. On narrow pages, its name is above its bar. */
const LAYOUTS = {
  wide: { left: 284, row: 26, barTop: 6, nameAbove: false, letters: 38 },
  narrow: { left: 8, row: 42, barTop: 22, nameAbove: true, letters: 44 },
} as const

/** Draws the time of each step, and all events below. */
export const timelineFigure = (result: DrillResult): Figure => {
  const { steps, events } = result
  const title = 'Steps and events over time'
  const rowsOn = (page: Page) => steps.length * LAYOUTS[page].row
  return {
    title,
    about: 'A bar is a step from its first call to its end; a tick in the lowest line is an event of the table below.',
    drawing: drawBoth(
      title,
      (page) => STEPS_TOP + rowsOn(page) + EVENTS + BELOW,
      (width, page) => {
        const { left } = LAYOUTS[page]
        const height = rowsOn(page) + EVENTS
        const frame = {
          left,
          top: STEPS_TOP,
          width: width - left - STEPS_RIGHT,
          height,
          endMs: endOf(result),
          highest: 1,
        }
        return markup`${drawTimeAxis(frame)}${steps.map((step, index) => drawStep(frame, step, index, page))}${events.map(({ atMs }) => markup`<path class="event" d="M${toX(frame, atMs)} ${STEPS_TOP + height - EVENTS + 5}v12"/>`)}`
      },
    ),
  }
}

const drawStep = (
  frame: Frame,
  { name, startedMs, tookMs, outcome }: StepResult,
  index: number,
  page: Page,
): Markup => {
  const { row, barTop, nameAbove, letters } = LAYOUTS[page]
  const y = STEPS_TOP + index * row
  const x = toX(frame, startedMs)
  const length = round(Math.max(toX(frame, startedMs + tookMs) - x, 2))
  const label = `${index + 1}  ${name.length > letters ? `${name.slice(0, letters - 1)}…` : name}`
  return markup`<text class="label" x="4" y="${y + (nameAbove ? 15 : barTop + 11)}">${label}</text><rect class="bar ${outcome === 'failed' ? 'bar-bad' : ''}" x="${x}" y="${y + barTop}" width="${length}" height="14" rx="2"/><text class="tick" x="${x + length + 6}" y="${y + barTop + 11}">${outcome === 'skipped' ? 'skipped' : formatMs(tookMs)}</text>`
}
