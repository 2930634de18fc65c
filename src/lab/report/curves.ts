import { largestOf } from '../../base/extremes.js'
import type { DrillResult, Sample, StepResult } from '../drills/context/result.js'
import { formatMs, formatNumber, formatOffset } from '../texts/format.js'
import {
  drawFigure,
  drawTimeAxis,
  drawValueAxis,
  type Frame,
  type Markup,
  markup,
  type Page,
  round,
  roundUp,
  shorten,
  toX,
  toY,
} from './markup.js'

interface Curve {
  readonly name: string
  /** The CSS class; see `style.ts`. */
  readonly look: string
  /** One value per sample. Null: unknown. */
  readonly values: readonly (number | null)[]
}

const LEFT = 52
const RIGHT = 14
const TOP = 26
const HEIGHT = 170
const BELOW = 26

const endOf = ({ durationMs, steps, samples }: DrillResult): number =>
  Math.max(durationMs, ...steps.map(({ startedMs, tookMs }) => startedMs + tookMs), samples.at(-1)?.atMs ?? 0, 1)

/** Width that the number of a step needs, in pixels. Numbers that would overlap are omitted. */
const NUMBER_WIDTH = 16

/** Draws each step of the drill as a shaded stripe with its number above. */
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

/** Draws the interruption of writes as a red background. */
const drawOutage = ({ rto }: DrillResult, frame: Frame): Markup | undefined => {
  if (!rto || rto.fromMs === null) return undefined
  const x = toX(frame, rto.fromMs)
  const width = round(toX(frame, rto.toMs ?? frame.endMs) - x)
  return markup`<rect class="outage" x="${x}" y="${frame.top}" width="${width}" height="${frame.height}"/>`
}

export const lagFigure = (result: DrillResult): Markup | undefined => {
  const { samples } = result
  const links = [...new Set(samples.flatMap(({ lag }) => Object.keys(lag)))].sort()
  if (links.length === 0) return undefined
  const curves = links.map((link, index) => ({
    name: nameLink(link),
    look: `curve-${(index % 6) + 1}`,
    values: samples.map(({ lag }) => lag[link] ?? null),
  }))
  const about = curves.map((curve) => describeLag(curve, samples)).join('; ')
  const hasGap = samples.some(({ lag }) => Object.values(lag).includes(null))
  const gap = hasGap ? ' Gaps: a cluster was unreachable.' : ''
  return drawCurves(result, 'Replication lag, in log entries', curves, `${about}.${gap}`)
}

/** Formats `A>B dr` as `A → B, DR`. */
const nameLink = (link: string): string =>
  link
    .replace('>', ' → ')
    .replace(/ dr$/, ', DR')
    .replace(/ performance$/, ', performance')

const describeLag = ({ name, values }: Curve, samples: readonly Sample[]): string => {
  const most = largestOf(values.map((value) => value ?? 0))
  if (most === 0) return `${name}: no lag in any sample`
  const atMs = samples[values.indexOf(most)]?.atMs ?? 0
  return `${name}: at most ${formatNumber(most)} ${most === 1 ? 'entry' : 'entries'} behind, at ${formatOffset(atMs)}`
}

const COUNTS: readonly { readonly name: string; readonly look: string; readonly count: (sample: Sample) => number }[] =
  [
    { name: 'successful writes', look: 'curve-1', count: ({ accepted }) => accepted },
    { name: 'successful reads', look: 'curve-2', count: ({ reads }) => reads },
    { name: 'failed requests', look: 'curve-bad', count: ({ refused, readsRefused }) => refused + readsRefused },
  ]

/**
 * Draws the rates of successful and failed client requests. Each sample counts the requests since the previous sample.
 */
export const requestFigure = (result: DrillResult): Markup | undefined => {
  const { samples } = result
  const totals = COUNTS.map(({ count }) => samples.reduce((sum, sample) => sum + count(sample), 0))
  if (totals.every((one) => one === 0)) return undefined
  const curves = COUNTS.map(({ name, look, count }) => ({
    name,
    look,
    values: samples.map((sample, index) => {
      const ms = sample.atMs - (samples[index - 1]?.atMs ?? 0)
      return ms > 0 ? (count(sample) * 1000) / ms : 0
    }),
  }))
  const about = COUNTS.map(({ name }, index) => `${formatNumber(totals[index] ?? 0)} ${name}`).join(', ')
  const outage = result.rto?.fromMs == null ? '' : ' Red background: no write was accepted.'
  return drawCurves(result, 'Client requests per second', curves, `Total: ${about}.${outage}`)
}

const drawCurves = (result: DrillResult, title: string, curves: readonly Curve[], about: string): Markup => {
  const highest = roundUp(
    largestOf(
      curves.flatMap(({ values }) => values.map((value) => value ?? 0)),
      1,
    ),
  )
  const legend = markup`<ul class="legend">${curves.map(
    ({ name, look }) =>
      markup`<li><svg width="22" height="10" aria-hidden="true"><path class="curve ${look}" d="M1 5H21"/></svg>${name}</li>`,
  )}</ul>`
  return drawFigure({
    title,
    about,
    legend,
    heightOn: () => TOP + HEIGHT + BELOW,
    draw: (full) => {
      const width = full - LEFT - RIGHT
      const frame = { left: LEFT, top: TOP, width, height: HEIGHT, endMs: endOf(result), highest }
      return markup`${drawPhases(result, frame)}${drawOutage(result, frame)}${drawValueAxis(frame)}${drawTimeAxis(frame)}${curves.map((curve) => drawCurve(frame, curve, result.samples))}`
    },
  })
}

/** Draws a step curve, since each count covers the time since the previous sample. Unknown values are gaps. */
const drawCurve = (frame: Frame, { look, values }: Curve, samples: readonly Sample[]): Markup => {
  const line = values.map((value, index) => {
    if (value === null) return ''
    const y = toY(frame, value)
    const isOpen = index > 0 && values[index - 1] !== null
    const start = isOpen ? `V${y}` : `M${toX(frame, samples[index - 1]?.atMs ?? 0)} ${y}`
    return `${start}H${toX(frame, samples[index]?.atMs ?? 0)}`
  })
  return markup`<path class="curve ${look}" d="${line.join('')}"/>`
}

const STEPS_TOP = 8
const EVENTS = 22
const STEPS_RIGHT = 70

/** Sizes of the line of a step, in pixels. On narrow pages, the name is above the bar. `letters`: in the name. */
const LAYOUTS = {
  wide: { left: 284, row: 26, barTop: 6, nameAbove: false, letters: 38 },
  narrow: { left: 8, row: 42, barTop: 22, nameAbove: true, letters: 44 },
} as const

export const timelineFigure = (result: DrillResult): Markup => {
  const { steps, events } = result
  const rowsOn = (page: Page) => steps.length * LAYOUTS[page].row
  return drawFigure({
    title: 'Steps and events over time',
    about: 'Bars: duration of each step. Ticks in the last row: events of the table below.',
    heightOn: (page) => STEPS_TOP + rowsOn(page) + EVENTS + BELOW,
    draw: (full, page) => {
      const { left } = LAYOUTS[page]
      const height = rowsOn(page) + EVENTS
      const width = full - left - STEPS_RIGHT
      const frame = { left, top: STEPS_TOP, width, height, endMs: endOf(result), highest: 1 }
      return markup`${drawTimeAxis(frame)}${steps.map((step, index) => drawStep(frame, step, index, page))}${events.map(({ atMs }) => markup`<path class="event" d="M${toX(frame, atMs)} ${STEPS_TOP + height - EVENTS + 5}v12"/>`)}`
    },
  })
}

const drawStep = (frame: Frame, step: StepResult, index: number, page: Page): Markup => {
  const { name, startedMs, tookMs, outcome } = step
  const { row, barTop, nameAbove, letters } = LAYOUTS[page]
  const y = STEPS_TOP + index * row
  const x = toX(frame, startedMs)
  const length = round(Math.max(toX(frame, startedMs + tookMs) - x, 2))
  const label = `${index + 1}  ${shorten(name, letters)}`
  return markup`<text class="label" x="4" y="${y + (nameAbove ? 15 : barTop + 11)}">${label}</text><rect class="bar ${outcome === 'failed' ? 'bar-bad' : ''}" x="${x}" y="${y + barTop}" width="${length}" height="14" rx="2"/><text class="tick" x="${x + length + 6}" y="${y + barTop + 11}">${outcome === 'skipped' ? 'skipped' : formatMs(tookMs)}</text>`
}
