import { formatNumber } from '../texts/format.js'

/** Trusted markup. Only `markup` creates it, so that all other text in a report is escaped. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A template value: text is escaped, markup and lists of it are inserted, undefined and false produce nothing. */
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
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to look for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

const escapeText = (text: string): string =>
  text.replace(FORBIDDEN, '\ufffd').replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character)

/** Number of visible rows. The rest of a table expands on demand, and is always printed. */
const ROWS_SHOWN = 12

/** Longer texts wrap. */
const LETTERS_IN_LINE = 26

export const section = (title: string, ...parts: readonly (Markup | undefined | false)[]): Markup =>
  markup`<section><h2>${title}</h2>${parts}</section>`

export const drawTable = (heads: readonly string[], rows: readonly (readonly string[])[]): Markup => {
  const rest = rows.slice(ROWS_SHOWN)
  return markup`${drawRows(heads, rows.slice(0, ROWS_SHOWN))}${rest.length > 0 && markup`<details><summary>${formatNumber(rest.length)} more</summary>${drawRows(heads, rest)}</details>`}`
}

/** Draws rows whose cells contain their header, for pages too narrow for table rows. */
const drawRows = (heads: readonly string[], rows: readonly (readonly string[])[]): Markup =>
  markup`<table><thead><tr>${heads.map((head) => markup`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows.map((row) => markup`<tr>${row.map((cell, index) => drawCell(heads[index] ?? '', cell))}</tr>`)}</tbody></table>`

const drawCell = (head: string, cell: string): Markup =>
  markup`<td class="${cell.length > LETTERS_IN_LINE ? 'long' : ''}" data-head="${head}">${cell}</td>`

/** Draws shell commands, which wrap only between words: a dash at the end of a line would look like part of the command. */
export const drawCommands = (lines: readonly string[]): Markup | undefined =>
  lines.length === 0
    ? undefined
    : markup`<pre>${lines.flatMap((line, index) => [index > 0 && '\n', drawLine(line)])}</pre>`

const drawLine = (line: string): Markup =>
  markup`${line.split(' ').flatMap((word, index) => [index > 0 && ' ', markup`<span>${word}</span>`])}`
