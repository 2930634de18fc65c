import type { DrillResult, StepResult } from '../drills/context/result.js'
import { drawTimeAxis, type Frame, round, toX } from './axis.js'
import { drawBoth, type Figure, type Page } from './figure.js'
import { formatMs } from '../texts/format.js'
import { type Markup, markup } from './markup.js'

const TOP = 8
const BELOW = 26
const EVENTS = 22
const RIGHT = 70

/** One line per step. On narrow pages, its name is above its bar. */
const LAYOUTS = {
  wide: { left: 284, row: 26, barTop: 6, nameAbove: false, letters: 38 },
  narrow: { left: 8, row: 42, barTop: 22, nameAbove: true, letters: 44 },
} as const

/** Draws the time of each step, and all events below. */
export const timelineFigure = (result: DrillResult, endMs: number): Figure => {
  const { steps, events } = result
  const title = 'Steps and events over time'
  const rowsOn = (page: Page) => steps.length * LAYOUTS[page].row
  return {
    title,
    about: 'A bar is a step from its first call to its end; a tick in the lowest line is an event of the table below.',
    drawing: drawBoth(
      title,
      (page) => TOP + rowsOn(page) + EVENTS + BELOW,
      (width, page) => {
        const { left } = LAYOUTS[page]
        const height = rowsOn(page) + EVENTS
        const frame = { left, top: TOP, width: width - left - RIGHT, height, endMs, highest: 1 }
        return markup`${drawTimeAxis(frame)}${steps.map((step, index) => drawStep(frame, step, index, page))}${events.map(({ atMs }) => markup`<path class="event" d="M${toX(frame, atMs)} ${TOP + height - EVENTS + 5}v12"/>`)}`
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
  const y = TOP + index * row
  const x = toX(frame, startedMs)
  const length = round(Math.max(toX(frame, startedMs + tookMs) - x, 2))
  const label = `${index + 1}  ${name.length > letters ? `${name.slice(0, letters - 1)}…` : name}`
  return markup`<text class="label" x="4" y="${y + (nameAbove ? 15 : barTop + 11)}">${label}</text><rect class="bar ${outcome === 'failed' ? 'bar-bad' : ''}" x="${x}" y="${y + barTop}" width="${length}" height="14" rx="2"/><text class="tick" x="${x + length + 6}" y="${y + barTop + 11}">${outcome === 'skipped' ? 'skipped' : formatMs(tookMs)}</text>`
}
