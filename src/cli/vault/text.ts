/** Texts as Vault prints them: columns, wrapped lines, and values in Go's format. */
import { formatShortDuration } from '../../base/duration.js'
import { isMap, type JsonMap } from './model.js'

/** The cells of one row of a table. */
export type Row = readonly string[]

export const formatColumns = (rows: readonly Row[]): string => {
  const shown = rows.map((row) => row.map((cell) => (cell === '' ? 'n/a' : cell)))
  const widths: number[] = []
  for (const row of shown) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(cell))
  }
  const line = (row: Row) =>
    row
      .map((cell, column) =>
        column === row.length - 1 ? cell : cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)),
      )
      .join('    ')
  return shown.map(line).join('\n')
}

/** Formats a table with an underlined header. */
export const formatTable = (header: Row, rows: readonly Row[]): string =>
  formatColumns([header, header.map((word) => '-'.repeat(word.length)), ...rows])

export const formatPairs = (rows: readonly Row[]): string => formatTable(['Key', 'Value'], rows)

/** Returns a row for each field in `titles` that has a value. `titles` maps fields to titles. */
export const presentRows = (object: JsonMap, titles: Readonly<Record<string, string>>): Row[] =>
  Object.entries(titles).flatMap(([field, title]) => (object[field] ? [[title, goText(object[field])]] : []))

/** A column of a table of objects: its title, and a function that returns the cell of an object. */
export type Column = readonly [title: string, cell: (object: JsonMap) => string]

/** Returns a function that returns the text of a field. The text is empty if the field is null or does not exist. */
export const cellOf =
  (field: string) =>
  (object: JsonMap): string =>
    object[field] === undefined || object[field] === null ? '' : goText(object[field])

export const REPLICATION: Column = ['Replication', ({ local }) => (local === true ? 'local' : 'replicated')]

/**
 * Formats a table of objects. `objects` maps names to objects, `names` is the order of the rows (default: sorted), and
 * `title` is the header of the column with the names.
 */
export const formatObjects = (
  title: string,
  objects: JsonMap,
  columns: readonly Column[],
  names: readonly string[] = Object.keys(objects).sort(),
): string => {
  const rows = names.map((name): Row => {
    const object = objects[name]
    return [name, ...columns.map(([, cell]) => (isMap(object) ? cell(object) : ''))]
  })
  return formatTable([title, ...columns.map(([title]) => title)], rows)
}

/** Formats a title between equal signs. The result is about `width` characters wide. */
export const formatTitle = (title: string, width: number): string => {
  const space = width - title.length - 2
  const side = '='.repeat(space <= 0 ? 2 : Math.ceil(space / 2))
  return `${side} ${title} ${side}`
}

const widthOf = (text: string): number => [...text].length

/** Formats a value like Go: `[a b]` for a list, `map[k:v]` for an object with sorted keys, `<nil>` for null. */
export const goText = (value: unknown): string => {
  if (value === null || value === undefined) return '<nil>'
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`
  if (!isMap(value)) return String(value)
  const pairs = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goText(value[key])}`)
  return `map[${pairs.join(' ')}]`
}

/** Formats a list like Go: `["a" "b"]`. */
export const goQuotedList = (value: unknown): string =>
  `[${(Array.isArray(value) ? value : []).map((item) => JSON.stringify(goText(item))).join(' ')}]`

/** Formats a number of seconds in a form such as `1h30m`. Returns the text of other values unchanged. */
export const goDuration = (value: unknown): string => {
  const seconds = Number(goText(value))
  return goText(value) !== '' && Number.isInteger(seconds) ? formatShortDuration(seconds) : goText(value)
}

const DURATION_NAME = /^(?:period|ttl|duration|lease_max|ttl_max)$|_(?:period|ttl|duration)$/

/**
 * Formats a field of `data`. If its key is the name of a duration, such as `ttl`, the value is formatted as a duration.
 */
export const dataText = (key: string, value: unknown): string =>
  DURATION_NAME.test(key) ? goDuration(value) : goText(value)

/** Maximum line width in characters. */
const COLUMNS = 78

/** Additional cost of a line that is too wide because of a long word. This minimizes the number of such lines. */
const TOO_WIDE = 1e5

/**
 * Breaks a text into lines of at most `width` characters, so that the lines are about equally long: minimizes the sum
 * of the squared unused widths, except for the last line. Each white space becomes one space. A word longer than
 * `width` gets a line of its own.
 */
export const wrapText = (text: string, width: number): string[] => {
  const words = text.split(/\s+/).filter(Boolean)
  const plans: Plan[] = []
  for (let start = words.length - 1; start >= 0; start--) plans[start] = planFrom(words, start, width, plans)
  const lines: string[] = []
  for (let start = 0; start < words.length; ) {
    const end = plans[start]?.end ?? words.length
    lines.push(words.slice(start, end).join(' '))
    start = end
  }
  return lines
}

/**
 * The best line breaks for the text from one word to its end: their cost, and the index after the last word of the
 * first line.
 */
type Plan = { readonly cost: number; readonly end: number }

const planFrom = (words: readonly string[], start: number, width: number, plans: readonly Plan[]): Plan => {
  let best: Plan = { cost: Number.POSITIVE_INFINITY, end: start + 1 }
  let length = -1
  for (let end = start + 1; end <= words.length; end++) {
    length += 1 + (words[end - 1]?.length ?? 0)
    const isTooWide = length > width
    if (end === words.length && !isTooWide) return { cost: 0, end }
    const cost = (width - length) ** 2 + (isTooWide ? TOO_WIDE : 0) + (plans[end]?.cost ?? 0)
    if (cost < best.cost) best = { cost, end }
    if (isTooWide) break
  }
  return best
}

/** Wraps a text at the maximum line width. Each line is indented by `indent` spaces, which are part of the width. */
export const wrapIndented = (text: string, indent = 0): string =>
  wrapText(text, COLUMNS - indent)
    .map((line) => ' '.repeat(indent) + line)
    .join('\n')
