/** Which command somebody may have meant. */

/** More than this many slips in one name are no slips, nor more than a part of its letters. */
const SLIPS_MAX = 3
const PART_MAX = 0.4
const SHOWN_MAX = 3

/**
 * Names that look most like the beginning of `words`, best first; none when nothing comes near. A name of so many words is
 * compared with as many of `words`.
 */
export const suggest = (words: readonly string[], names: Iterable<string>): string[] => {
  const near = [...names].flatMap((name) => {
    const typed = words.slice(0, name.split(' ').length).join(' ')
    const slips = countSlips(typed, name)
    const count = name.split(' ').length
    return slips > 0 && slips <= SLIPS_MAX && slips <= name.length * PART_MAX ? [{ name, slips, count }] : []
  })
  const fewest = Math.min(...near.map(({ slips }) => slips))
  const best = near.filter(({ slips }) => slips === fewest)
  // With the same slips the name of more words is what the rest of the line says, too.
  const most = Math.max(...best.map(({ count }) => count))
  return best
    .filter(({ count }) => count === most)
    .slice(0, SHOWN_MAX)
    .map(({ name }) => name)
}

/** Letters to add, drop, replace or swap with their neighbour to make one text of the other. */
const countSlips = (from: string, to: string): number => {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)]
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Number.POSITIVE_INFINITY
  for (let row = 1; row <= from.length; row++) {
    const line = [row]
    rows.push(line)
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1]
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      line.push(
        Math.min(
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          at(row - 1, column - 1) + (isSame ? 0 : 1),
          isSwapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
  }
  return at(from.length, to.length)
}
