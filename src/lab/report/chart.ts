import { formatNumber } from '../texts/format.js'
import { type Markup, markup } from './markup.js'

/** A drawing, and a text alternative for readers who cannot see it or need the numbers. */
export interface Figure {
  readonly title: string
  readonly about: string
  readonly legend?: Markup
  readonly drawing: Markup
}

/** The page width: desktop and paper, or phone. Text size is constant, so each drawing has two versions. */
export type Page = 'wide' | 'narrow'

const FULL: Readonly<Record<Page, number>> = { wide: 920, narrow: 340 }

/** Draws a figure for wide and narrow pages. CSS shows the matching version. */
export const drawBoth = (
  title: string,
  heightOn: (page: Page) => number,
  draw: (width: number, page: Page) => Markup,
  widths = FULL,
): Markup =>
  markup`${(['wide', 'narrow'] as const).map((page) => {
    const width = widths[page]
    const height = heightOn(page)
    return markup`<svg class="${page}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${title}">${draw(width, page)}</svg>`
  })}`

export const renderFigure = ({ title, about, legend, drawing }: Figure): Markup =>
  markup`<figure><h3>${title}</h3>${legend}${drawing}<figcaption>${about}</figcaption></figure>`

/** The position of a chart in its figure. All lengths are pixels. */
export interface Frame {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
  /** The end of the time axis. */
  readonly endMs: number
  /** The end of the value axis. */
  readonly highest: number
}

export const toX = ({ left, width, endMs }: Frame, atMs: number): number =>
  round(left + (width * Math.min(Math.max(atMs, 0), endMs)) / endMs)

export const toY = ({ top, height, highest }: Frame, value: number): number =>
  round(top + height - (height * Math.min(value, highest)) / highest)

export const round = (value: number): number => Math.round(value * 10) / 10

/** Returns ticks at steps of 1, 2 or 5 times a power of ten, at most `count` up to `end`. */
const findTicks = (end: number, count: number): number[] => {
  const rough = end / Math.max(count, 1)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? power * 10
  return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, index) => Number((index * step).toPrecision(12)))
}

/** Returns the smallest round number that is at least `value`, so that a curve stays below a labeled line. */
export const roundUp = (value: number): number => {
  const ticks = findTicks(Math.max(value, 1), 4)
  const step = ticks[1] ?? 1
  return Math.max(Math.ceil(value / step) * step, step)
}

/** Draws the time axis with the seconds of the drill, and vertical grid lines. */
export const drawTimeAxis = (frame: Frame): Markup => {
  const { left, top, width, height, endMs } = frame
  const bottom = top + height
  const ticks = findTicks(endMs / 1000, Math.max(2, Math.floor(width / 80)))
  return markup`<path class="axis" d="M${left} ${bottom}H${left + width}"/>${ticks.map((second) => {
    const x = toX(frame, second * 1000)
    return markup`<path class="grid" d="M${x} ${top}V${bottom}"/><text class="tick" x="${x}" y="${bottom + 16}" text-anchor="middle">${second} s</text>`
  })}`
}

/** Draws the value axis on the left, with the counts. */
export const drawValueAxis = (frame: Frame): Markup => {
  const { left, width, highest } = frame
  return markup`${findTicks(highest, 4).map((value) => {
    const y = toY(frame, value)
    return markup`<path class="grid" d="M${left} ${y}H${left + width}"/><text class="tick" x="${left - 6}" y="${y + 4}" text-anchor="end">${formatNumber(value)}</text>`
  })}`
}
