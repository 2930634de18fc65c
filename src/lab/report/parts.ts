import { formatNumber } from '../texts/format.js'
import { type Markup, markup } from './markup.js'

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
