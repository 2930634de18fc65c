import type { PlannedLink } from '../../lab/web/page-facts.js'

/** A cell of the grid for clusters. Columns and rows begin with 0. */
interface Place {
  readonly column: number
  readonly row: number
}

export type Places = ReadonlyMap<string, Place>

/**
 * Places each cluster by its initial role. Performance secondaries are beside their primary, on alternating sides. DR
 * secondaries are below their primary.
 */
export const placeClusters = (names: readonly string[], planned: readonly PlannedLink[]): Places => {
  const places = new Map<string, Place>()
  const followers = (name: string, kind: PlannedLink['kind']) =>
    planned.filter((link) => link.primary === name && link.kind === kind).map(({ secondary }) => secondary)
  const isTaken = (column: number, row: number) =>
    [...places.values()].some((place) => place.column === column && place.row === row)
  /** `side`: the side of the first primary, 1 for right and -1 for left; 0 in its own column. */
  const place = (name: string, column: number, firstRow: number, side: number): void => {
    if (places.has(name) || !names.includes(name)) return
    let row = firstRow
    while (isTaken(column, row)) row += 1
    places.set(name, { column, row })
    for (const follower of followers(name, 'dr')) place(follower, column, row + 1, side)
    followers(name, 'performance').forEach((follower, index) => {
      const direction = side === 0 ? (index % 2 === 0 ? 1 : -1) : side
      place(follower, column + direction, row, direction)
    })
  }
  const secondaries = new Set(planned.map(({ secondary }) => secondary))
  // Starts with the clusters that have no primary. In a cycle, every cluster has one, so any cluster can be the start.
  for (const name of [...names.filter((one) => !secondaries.has(one)), ...names]) place(name, 0, 0, 0)
  return fromZero(places)
}

/** Moves all clusters to the right until the leftmost column is 0. */
const fromZero = (places: Places): Places => {
  const left = Math.min(0, ...[...places.values()].map(({ column }) => column))
  return new Map([...places].map(([name, { column, row }]) => [name, { column: column - left, row }]))
}

/** Places all clusters in one column, in the same order. */
export const stack = (places: Places): Places =>
  new Map([...places.keys()].map((name, row) => [name, { column: 0, row }]))
