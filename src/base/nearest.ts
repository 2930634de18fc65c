/** Minimum length of an abbreviation, which gets the first word that it begins. */
const ABBREVIATION_MIN = 3

/** Returns the known word that is closest to a misspelled or abbreviated word; undefined if none is close. */
export const nearest = (word: string, known: readonly string[]): string | undefined => {
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((one, other) => one.distance - other.distance)
  const best = ranked[0]
  const most = Math.max(1, Math.floor((best?.candidate.length ?? 0) / 3))
  if (best && best.distance <= most && best.distance < word.length) return best.candidate
  return word.length < ABBREVIATION_MIN ? undefined : known.find((one) => one.startsWith(word.toLowerCase()))
}

/** Returns text for the end of a message about an unknown word: the nearest known word; empty if none is close. */
export const suggestion = (word: string, known: readonly string[]): string => {
  const meant = nearest(word, known)
  return meant ? `; did you mean "${meant}"?` : ''
}

/**
 * Returns the number of changes that turn one text into the other. A change inserts, deletes or replaces a letter, or
 * swaps two adjacent letters.
 */
export const editDistance = (from: string, to: string): number => {
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
