/** Columns separated by four spaces; an empty cell is printed as `n/a`. */
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

/** Formats columns with an underlined header. */
export const formatTable = (header: Row, rows: readonly Row[]): string =>
  formatColumns([header, header.map((word) => '-'.repeat(word.length)), ...rows])

export const formatPairs = (rows: readonly Row[]): string => formatTable(['Key', 'Value'], rows)

/** Formats a title between equal signs, about as wide as `width`. */
export const formatTitle = (title: string, width: number): string => {
  const room = width - title.length - 2
  const side = '='.repeat(room <= 0 ? 2 : Math.ceil(room / 2))
  return `${side} ${title} ${side}`
}

const widthOf = (text: string): number => [...text].length
