import type { DrillResult } from '../drills/context/result.js'
import { type Frame, round, toX } from './axis.js'
import { type Markup, markup } from './markup.js'

/** Returns the end of the time axis of a drill. */
export const endOf = ({ durationMs, steps, samples }: DrillResult): number =>
  Math.max(durationMs, ...steps.map(({ startedMs, tookMs }) => startedMs + tookMs), samples.at(-1)?.atMs ?? 0, 1)

/** Narrower stripes are shaded without a number. */
const NUMBER_WIDTH = 16

/** Draws each step of the drill as a shaded stripe with its number above, identical in all charts. */
export const drawPhases = (result: DrillResult, frame: Frame): Markup => {
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
export const drawOutage = ({ rto }: DrillResult, frame: Frame): Markup | undefined => {
  if (!rto || rto.fromMs === null) return undefined
  const x = toX(frame, rto.fromMs)
  const width = round(toX(frame, rto.toMs ?? frame.endMs) - x)
  return markup`<rect class="outage" x="${x}" y="${frame.top}" width="${width}" height="${frame.height}"/>`
}
