import { formatNumber } from '../texts/format.js'

/** Markup that needs no escaping. Only the function `markup` creates it, so that all other text is escaped. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * A template value. Text is escaped. Markup and lists of markup are inserted unchanged. Undefined and false are
 * omitted.
 */
type Part = Markup | string | number | undefined | false | readonly Part[]

/** Builds HTML, SVG or XML from a template. Escapes every value. */
export const markup = (strings: TemplateStringsArray, ...parts: readonly Part[]): Markup =>
  new Markup(strings.reduce((text, piece, index) => `${text}${render(parts[index - 1])}${piece}`))

const render = (part: Part): string => {
  if (part === undefined || part === false) return ''
  if (part instanceof Markup) return part.text
  if (typeof part === 'number') return String(part)
  return typeof part === 'string' ? escapeText(part) : part.map(render).join('')
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Characters that XML cannot represent even escaped: control characters and unpaired surrogates. */
const FORBIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches control characters on purpose
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

const escapeText = (text: string): string =>
  text.replace(FORBIDDEN, '\ufffd').replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character)

/** Number of rows that are visible at first. Readers expand the rest. Printouts contain all rows. */
const ROWS_SHOWN = 12

/** Maximum number of characters of a cell that does not wrap. */
const LETTERS_IN_LINE = 26

/** Draws parts below a heading. Returns undefined if all parts are undefined. */
export const section = (title: string, ...parts: readonly (Markup | undefined)[]): Markup | undefined =>
  parts.some((part) => part) ? markup`<section><h2>${title}</h2>${parts}</section>` : undefined

export const titled = (title: string, content: Markup | undefined): Markup | undefined =>
  content && markup`<figure><h3>${title}</h3>${content}</figure>`

/** Draws names with their values. Omits null values. Undefined if no name has a value. */
export const drawFacts = (facts: Readonly<Record<string, string | null>>): Markup | undefined => {
  const known = Object.entries(facts).filter((fact): fact is [string, string] => fact[1] !== null)
  if (known.length === 0) return undefined
  return markup`<dl class="facts">${known.map(([name, value]) => markup`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`
}

/** Draws a table. Undefined without rows. */
export const drawTable = (heads: readonly string[], rows: readonly (readonly string[])[]): Markup | undefined => {
  if (rows.length === 0) return undefined
  const rest = rows.slice(ROWS_SHOWN)
  return markup`${drawRows(heads, rows.slice(0, ROWS_SHOWN))}${rest.length > 0 && markup`<details><summary>${formatNumber(rest.length)} more</summary>${drawRows(heads, rest)}</details>`}`
}

/** Draws rows whose cells contain their header, for pages too narrow for table rows. */
const drawRows = (heads: readonly string[], rows: readonly (readonly string[])[]): Markup =>
  markup`<table><thead><tr>${heads.map((head) => markup`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows.map((row) => markup`<tr>${row.map((cell, index) => drawCell(heads[index] ?? '', cell))}</tr>`)}</tbody></table>`

const drawCell = (head: string, cell: string): Markup =>
  markup`<td class="${cell.length > LETTERS_IN_LINE ? 'long' : ''}" data-head="${head}">${cell}</td>`

/**
 * Draws shell commands, which wrap only between words: a dash at the end of a line would look like part of the command.
 */
export const drawCommands = (lines: readonly string[]): Markup | undefined =>
  lines.length === 0
    ? undefined
    : markup`<pre>${lines.flatMap((line, index) => [index > 0 && '\n', drawLine(line)])}</pre>`

const drawLine = (line: string): Markup =>
  markup`${line.split(' ').flatMap((word, index) => [index > 0 && ' ', markup`<span>${word}</span>`])}`

/** The page width: `wide` for desktops and paper, `narrow` for phones. Each drawing has a version for both. */
export type Page = 'wide' | 'narrow'

const FULL: Readonly<Record<Page, number>> = { wide: 920, narrow: 340 }

interface Figure {
  readonly title: string
  /** The caption: describes the drawing, for readers who cannot see it, with the important numbers. */
  readonly about: string
  readonly legend?: Markup
  readonly heightOn: (page: Page) => number
  readonly draw: (width: number, page: Page) => Markup
  readonly widths?: Readonly<Record<Page, number>>
}

/** Draws a figure for wide and narrow pages. CSS shows the matching version. */
export const drawFigure = ({ title, about, legend, heightOn, draw, widths = FULL }: Figure): Markup => {
  const drawings = (['wide', 'narrow'] as const).map((page) => {
    const width = widths[page]
    const height = heightOn(page)
    return markup`<svg class="${page}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${title}">${draw(width, page)}</svg>`
  })
  return markup`<figure><h3>${title}</h3>${legend}${drawings}<figcaption>${about}</figcaption></figure>`
}

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

export const shorten = (text: string, letters: number): string =>
  text.length > letters ? `${text.slice(0, letters - 1)}…` : text

export const round = (value: number): number => Math.round(value * 10) / 10

/** Returns axis values from 0 to `end`, in at most `count` steps of 1, 2 or 5 times a power of ten. */
const findTicks = (end: number, count: number): number[] => {
  const rough = end / Math.max(count, 1)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? power * 10
  return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, index) => Number((index * step).toPrecision(12)))
}

/** Returns the smallest axis value that is at least `value`, so that the highest grid line is above the curve. */
export const roundUp = (value: number): number => {
  const ticks = findTicks(Math.max(value, 1), 4)
  const step = ticks[1] ?? 1
  return Math.max(Math.ceil(value / step) * step, step)
}

/** Draws the time axis in seconds since the start of the drill, with vertical grid lines. */
export const drawTimeAxis = (frame: Frame): Markup => {
  const { left, top, width, height, endMs } = frame
  const bottom = top + height
  const ticks = findTicks(endMs / 1000, Math.max(2, Math.floor(width / 80)))
  return markup`<path class="axis" d="M${left} ${bottom}H${left + width}"/>${ticks.map((second) => {
    const x = toX(frame, second * 1000)
    return markup`<path class="grid" d="M${x} ${top}V${bottom}"/><text class="tick" x="${x}" y="${bottom + 16}" text-anchor="middle">${second} s</text>`
  })}`
}

export const drawValueAxis = (frame: Frame): Markup => {
  const { left, width, highest } = frame
  return markup`${findTicks(highest, 4).map((value) => {
    const y = toY(frame, value)
    return markup`<path class="grid" d="M${left} ${y}H${left + width}"/><text class="tick" x="${left - 6}" y="${y + 4}" text-anchor="end">${formatNumber(value)}</text>`
  })}`
}
