/** What a narrow screen can do without, the first of them first. */
const SPARE = ['process', 'address', 'merkle root', 'wal', 'heartbeat']

/** Between two columns. */
const GAP = 2

/**
 * The rows of a table, the header first, for a screen of so many columns: what can be spared is left out whole, and the state,
 * of which the beginning says most, comes last where even the rest is too wide.
 */
export const fitToWidth = (rows: readonly (readonly string[])[], width: number): string[][] => {
  let kept = rows.map((row) => [...row])
  for (const name of SPARE) {
    if (widthOf(kept) <= width) return kept
    const at = kept[0]?.indexOf(name) ?? -1
    if (at >= 0) kept = kept.map((row) => row.toSpliced(at, 1))
  }
  const state = kept[0]?.indexOf('state') ?? -1
  if (widthOf(kept) <= width || state < 0) return kept
  return kept.map((row) => [...row.toSpliced(state, 1), row[state] ?? ''])
}

const widthOf = (rows: readonly (readonly string[])[]): number =>
  (rows[0] ?? [])
    .map((_, column) => Math.max(...rows.map((row) => [...(row[column] ?? '')].length)))
    .reduce((sum, one) => sum + one + GAP, -GAP)
