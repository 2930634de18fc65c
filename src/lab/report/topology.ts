import type { ObservedLab, ObservedCluster, ObservedLink } from '../drills/context/result.js'
import { KIND_WORDS } from '../model/kinds.js'
import { drawFigure, type Markup, markup, type Page, shorten } from './markup.js'

/** Sizes in pixels. `letters`: maximum number of characters in a line of a box. */
const SIZES = {
  wide: { boxWidth: 122, boxHeight: 62, gapX: 44, gapY: 16, letters: 18 },
  narrow: { boxWidth: 114, boxHeight: 62, gapX: 24, gapY: 14, letters: 15 },
} as const
type Size = (typeof SIZES)[Page]

const MARGIN = 4

export const topologyFigure = (title: string, lab: ObservedLab): Markup => {
  const places = placeClusters(lab)
  const count = (of: (place: ClusterPosition) => number) => Math.max(0, ...places.map(of)) + 1
  const heightOn = (page: Page) => count(({ row }) => row) * (SIZES[page].boxHeight + SIZES[page].gapY) + 2 * MARGIN
  const widthOn = (page: Page) => count(({ column }) => column) * (SIZES[page].boxWidth + SIZES[page].gapX) + 2 * MARGIN
  const find = (name: string) => places.find((place) => place.name === name)
  return drawFigure({
    title,
    about: describeLab(lab),
    heightOn,
    draw: (_, page) =>
      markup`${lab.links.map((link) => drawLink(link, find(link.primary), find(link.secondary), SIZES[page]))}${lab.clusters.map((cluster) => drawCluster(cluster, find(cluster.name), SIZES[page]))}`,
    widths: { wide: widthOn('wide'), narrow: widthOn('narrow') },
  })
}

const cornerOf = ({ column, row }: ClusterPosition, { boxWidth, boxHeight, gapX, gapY }: Size) => ({
  x: MARGIN + column * (boxWidth + gapX),
  y: MARGIN + row * (boxHeight + gapY),
})

const drawCluster = (cluster: ObservedCluster, place: ClusterPosition | undefined, size: Size): Markup => {
  if (!place) return markup``
  const { x, y } = cornerOf(place, size)
  const role = describeRole(cluster)
  const look = `box ${cluster.health === null ? 'box-silent' : ''} ${role === 'primary' ? 'box-primary' : ''}`
  const lines = [role.replace('performance', 'perf.'), describeHealth(cluster)]
  const [first, second] = lines.map((text) => shorten(text, size.letters))
  return markup`<rect class="${look}" x="${x}" y="${y}" width="${size.boxWidth}" height="${size.boxHeight}" rx="6"/><text class="name" x="${x + 10}" y="${y + 22}">${shorten(cluster.name, size.letters - 5)}</text><text class="role" x="${x + 10}" y="${y + 38}">${first}</text><text class="state" x="${x + 10}" y="${y + 53}">${second}</text>`
}

/** Draws an arrow between boxes. To the same column or to the left, it goes around the right side of the boxes. */
const drawLink = (
  link: ObservedLink,
  from: ClusterPosition | undefined,
  to: ClusterPosition | undefined,
  size: Size,
): Markup => {
  if (!from || !to) return markup``
  const { boxWidth, boxHeight, gapX } = size
  const start = cornerOf(from, size)
  const end = cornerOf(to, size)
  const startY = start.y + boxHeight / 2
  const endY = end.y + boxHeight / 2
  const look = `link link-${link.kind} ${link.isConnected ? '' : 'link-cut'}`
  if (to.column > from.column) {
    const startX = start.x + boxWidth
    const bend = startX + gapX / 2
    return markup`<path class="${look}" d="M${startX} ${startY}C${bend} ${startY} ${bend} ${endY} ${end.x - 7} ${endY}"/>${arrowHead(end.x, endY, 1, link)}`
  }
  const side = Math.max(start.x, end.x) + boxWidth
  const x = side + gapX / 2
  return markup`<path class="${look}" d="M${start.x + boxWidth} ${startY + 8}C${x} ${startY + 8} ${x} ${endY - 8} ${end.x + boxWidth + 7} ${endY - 8}"/>${arrowHead(end.x + boxWidth, endY - 8, -1, link)}`
}

const arrowHead = (x: number, y: number, direction: 1 | -1, { kind }: ObservedLink): Markup =>
  markup`<path class="head link-${kind}" d="M${x} ${y}l${-8 * direction} -4.5v9z"/>`

const describeLab = ({ clusters, links }: ObservedLab): string => {
  const roles = clusters.map((cluster) => `${cluster.name}: ${describeRole(cluster)}, ${describeHealth(cluster)}`)
  const follows = links.map(
    ({ kind, primary, secondary, isConnected }) =>
      `${secondary} follows ${primary} (${KIND_WORDS[kind]}${isConnected ? '' : ', disconnected'})`,
  )
  return `${[...roles, ...follows].join('; ')}.`
}

/** The position of a cluster. `column`: the number of links from the root of its tree. */
interface ClusterPosition {
  readonly name: string
  readonly column: number
  readonly row: number
}

/**
 * Places primaries on the left and secondaries to the right of their primary, so that no arrow crosses a cluster. A
 * cluster with two primaries is placed at the first. A cluster without a primary starts a new tree.
 */
const placeClusters = ({ clusters, links }: ObservedLab): readonly ClusterPosition[] => {
  const places = new Map<string, ClusterPosition>()
  let nextRow = 0
  const place = (name: string, column: number): void => {
    // Set before the recursion, which otherwise would not end for two clusters that replicate from each other.
    places.set(name, { name, column, row: nextRow })
    const first = nextRow
    for (const { primary, secondary } of links)
      if (primary === name && !places.has(secondary)) place(secondary, column + 1)
    if (nextRow === first) nextRow += 1
  }
  const following = new Set(links.map(({ secondary }) => secondary))
  const names = clusters.map(({ name }) => name)
  for (const name of names.filter((one) => !following.has(one))) place(name, 0)
  for (const name of names) if (!places.has(name)) place(name, 0)
  return [...places.values()]
}

/** Describes the role that decides which requests the cluster serves. */
const describeRole = ({ dr, performance }: ObservedCluster): string => {
  if (dr.mode === 'secondary') return 'DR secondary'
  if (performance.mode === 'secondary') return 'performance secondary'
  if (dr.mode === 'primary' || performance.mode === 'primary') return 'primary'
  if (dr.mode === 'bootstrapping' || performance.mode === 'bootstrapping') return 'bootstrapping'
  return dr.mode === 'unknown' ? 'role unknown' : 'not replicated'
}

/** Describes the status of `sys/health`, and for a secondary whether it is connected. */
const describeHealth = ({ health, dr, performance }: ObservedCluster): string => {
  if (health === null) return 'no response'
  if (health === 501) return 'not initialized'
  if (health === 503) return 'sealed'
  const role = dr.mode === 'secondary' ? dr : performance
  if (role.mode !== 'secondary') return 'serves clients'
  return role.connectionState === 'ready' ? role.state : 'disconnected'
}
