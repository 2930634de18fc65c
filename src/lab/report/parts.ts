import { formatNumber } from '../texts/format.js'
import { type Markup, markup } from './markup.js'

/** As many rows as a reader can take in; the rest of a table opens on demand, and is all there on paper. */
const ROWS_SHOWN = 12

/** Longer texts go over several lines. */
const LETTERS_IN_LINE = 26

export const section = (title: string, ...parts: readonly (Markup | undefined | false)[]): Markup =>
  markup`<section><h2>${title}</h2>${parts}</section>`

export const drawTable = (heads: readonly string[], rows: readonly (readonly string[])[]): Markup => {
  const rest = rows.slice(ROWS_SHOWN)
  return markup`${drawRows(heads, rows.slice(0, ROWS_SHOWN))}${rest.length > 0 && markup`<details><summary>${formatNumber(rest.length)} more</summary>${drawRows(heads, rest)}</details>`}`
}

/** Each cell knows its head, for pages that are too narrow for a line of cells. */
const drawRows = (heads: readonly string[], rows: readonly (readonly string[])[]): Markup =>
  markup`<table><thead><tr>${heads.map((head) => markup`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows.map((row) => markup`<tr>${row.map((cell, index) => drawCell(heads[index] ?? '', cell))}</tr>`)}</tbody></table>`

const drawCell = (head: string, cell: string): Markup =>
  markup`<td class="${cell.length > LETTERS_IN_LINE ? 'long' : ''}" data-head="${head}">${cell}</td>`

/** Lines of a shell, broken between words alone: a dash at the end of a line would be taken for a part of it. */
export const drawCommands = (lines: readonly string[]): Markup | undefined =>
  lines.length === 0
    ? undefined
    : markup`<pre>${lines.flatMap((line, index) => [index > 0 && '\n', drawLine(line)])}</pre>`

const drawLine = (line: string): Markup =>
  markup`${line.split(' ').flatMap((word, index) => [index > 0 && ' ', markup`<span>${word}</span>`])}`
