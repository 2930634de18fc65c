import type { Picture, PictureLink } from '../drills/result.js'

/** Where a cluster stands: its distance from the primary at the left, and its line. */
export interface Place {
  readonly name: string
  readonly column: number
  readonly row: number
}

/**
 * Primaries at the left, behind each what follows it, so that no arrow crosses a cluster. A cluster stands behind the first
 * that it follows; what follows nobody begins a tree of its own.
 */
export const placeClusters = ({ clusters, links }: Picture): readonly Place[] => {
  const places = new Map<string, Place>()
  let nextRow = 0
  const place = (name: string, column: number): void => {
    // Taken before its followers are, so that two that follow each other end here.
    places.set(name, { name, column, row: nextRow })
    const first = nextRow
    for (const follower of followersOf(links, name)) if (!places.has(follower)) place(follower, column + 1)
    if (nextRow === first) nextRow += 1
  }
  const following = new Set(links.map(({ secondary }) => secondary))
  const names = clusters.map(({ name }) => name)
  for (const name of names.filter((one) => !following.has(one))) place(name, 0)
  for (const name of names) if (!places.has(name)) place(name, 0)
  return [...places.values()]
}

const followersOf = (links: readonly PictureLink[], name: string): readonly string[] => [
  ...new Set(links.filter(({ primary }) => primary === name).map(({ secondary }) => secondary)),
]
