import type { PlannedLink } from '../../lab/web/page-facts.js'

/** A cell of the grid for clusters. */
interface Field {
  readonly column: number
  readonly row: number
}

/**
 * Places each cluster by its initial role. Performance secondaries are beside their primary, on alternating sides. DR
 * secondaries are below their primary. Columns and rows begin with 0.
 */
export const placeClusters = (
  names: readonly string[],
  planned: readonly PlannedLink[],
): ReadonlyMap<string, Field> => {
  const places = new Map<string, Field>()
  const followers = (name: string, kind: PlannedLink['kind']) =>
    planned.filter((link) => link.primary === name && link.kind === kind).map(({ secondary }) => secondary)
  const isTaken = (column: number, row: number) =>
    [...places.values()].some((place) => place.column === column && place.row === row)
  const place = (name: string, column: number, firstRow: number, side: number): void => {
    if (places.has(name) || !names.includes(name)) return
    let row = firstRow
    while (isTaken(column, row)) row += 1
    places.set(name, { column, row })
    for (const follower of followers(name, 'dr')) place(follower, column, row + 1, side)
    followers(name, 'performance').forEach((follower, index) => {
      const way = side === 0 ? (index % 2 === 0 ? 1 : -1) : side
      place(follower, column + way, row, way)
    })
  }
  const led = new Set(planned.map(({ secondary }) => secondary))
  // Clusters without a primary come first; a cycle needs an arbitrary start.
  for (const name of [...names.filter((one) => !led.has(one)), ...names]) place(name, 0, 0, 0)
  return fromZero(places)
}

const fromZero = (places: ReadonlyMap<string, Field>): ReadonlyMap<string, Field> => {
  const left = Math.min(0, ...[...places.values()].map(({ column }) => column))
  return new Map([...places].map(([name, { column, row }]) => [name, { column: column - left, row }]))
}

export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface Layout {
  readonly width: number
  readonly height: number
  readonly boxes: ReadonlyMap<string, Box>
  /** True if all clusters are stacked, because there is no space for columns. */
  readonly isStacked: boolean
  /** True if the space between columns is large enough for labels that are readable from a distance. */
  readonly isRoomy: boolean
}

const GAP_MIN = 112
const GAP_MAX = 220
const GAP_ROOMY = 160
const BOX_MIN = 176
const BOX_MAX = 300
const HEIGHT = 148
/** Additional height per node of a cluster. A node row is a button, large enough for touch. */
const NODE_HEIGHT = 34
const ROW_GAP = 92
const MARGIN = 8
/** Space beside stacked boxes for the arrows. */
const GUTTER = 76
const STACK_GAP = 20
/** Space at the top for arrow labels that are stacked between close columns. */
const HEADROOM = 56
/** Space at the bottom for arrows that pass other boxes. */
const FOOT = 48

/**
 * Returns the boxes of clusters in pixels for a diagram of this width. `nodes`: maximum number of nodes of a cluster.
 */
export const layOut = (places: ReadonlyMap<string, Field>, width: number, nodes = 0): Layout => {
  const tall = HEIGHT + nodes * NODE_HEIGHT
  const columns = 1 + Math.max(0, ...[...places.values()].map(({ column }) => column))
  const rows = 1 + Math.max(0, ...[...places.values()].map(({ row }) => row))
  const room = (width - 2 * MARGIN - (columns - 1) * GAP_MIN) / columns
  if (room < BOX_MIN) return stack(places, width, tall)
  const boxWidth = Math.min(room, BOX_MAX)
  const gap = columns === 1 ? 0 : Math.min(GAP_MAX, (width - 2 * MARGIN - columns * boxWidth) / (columns - 1))
  const isRoomy = columns === 1 || gap >= GAP_ROOMY
  const top = MARGIN + (isRoomy ? 0 : HEADROOM)
  const left = (width - columns * boxWidth - (columns - 1) * gap) / 2
  const boxes = [...places].map(([name, { column, row }]) => {
    const [x, y] = [left + column * (boxWidth + gap), top + row * (tall + ROW_GAP)]
    return [name, { x, y, width: boxWidth, height: tall }] as const
  })
  const height = top + MARGIN + rows * tall + (rows - 1) * ROW_GAP + (columns > 2 ? FOOT : 0)
  return { width, height, boxes: new Map(boxes), isStacked: false, isRoomy }
}

const stack = (places: ReadonlyMap<string, Field>, width: number, tall: number): Layout => {
  const boxes = [...places.keys()].map((name, index) => {
    const y = MARGIN + index * (tall + STACK_GAP)
    return [name, { x: GUTTER, y, width: width - GUTTER - MARGIN, height: tall }] as const
  })
  const height = 2 * MARGIN + places.size * (tall + STACK_GAP) - STACK_GAP
  return { width, height, boxes: new Map(boxes), isStacked: true, isRoomy: false }
}

interface Point {
  readonly x: number
  readonly y: number
}

/** The line of an arrow as SVG, and the position of its label. */
export interface ArrowPath {
  readonly line: string
  readonly words: Point
  /** The label is above a horizontal line instead of in its middle. */
  readonly isAbove?: true
  /** The line is vertical, with space on both sides. */
  readonly isDown?: true
}

/** Space for the arrowhead, which is drawn past the end of the line. */
const HEAD = 12

/** Position of a fault sign in the narrow space beside a box, below the arrowhead. */
const BELOW_HEAD = 34

/** Distance between a box and the label beside it. */
const BESIDE_BOX = 6

/** Returns the path of an arrow. `lane`: number of the arrow between the same boxes, so that arrows do not overlap. */
export const pathBetween = (layout: Layout, from: Box, to: Box, lane: number): ArrowPath => {
  if (layout.isStacked) {
    const { line } = around(from, to, -20 - ((lane * 14) % 42))
    return { line, words: { x: to.x - BESIDE_BOX, y: middle(to) + BELOW_HEAD } }
  }
  if (from.x === to.x)
    return Math.abs(from.y - to.y) < 2 * from.height ? straightDown(from, to, lane) : around(from, to, -52)
  const isNear = Math.abs(from.x - to.x) < 2.2 * from.width
  return isNear || from.y !== to.y ? across(from, to, lane) : below(from, to)
}

const middle = ({ y, height }: Box): number => y + height / 2

const straightDown = (from: Box, to: Box, lane: number): ArrowPath => {
  const x = from.x + from.width / 2 + lane * 24
  const isDown = to.y > from.y
  const start = isDown ? from.y + from.height : from.y
  const end = isDown ? to.y - HEAD : to.y + to.height + HEAD
  return { line: `M${x} ${start} L${x} ${end}`, words: { x, y: (start + end) / 2 }, isDown: true }
}

const across = (from: Box, to: Box, lane: number): ArrowPath => {
  const isRight = to.x > from.x
  const start = { x: isRight ? from.x + from.width : from.x, y: middle(from) + lane * 24 }
  const end = { x: isRight ? to.x - HEAD : to.x + to.width + HEAD, y: middle(to) + lane * 24 }
  const turn = (end.x - start.x) / 2
  const line = `M${start.x} ${start.y} C${start.x + turn} ${start.y} ${end.x - turn} ${end.y} ${end.x} ${end.y}`
  const words = { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 }
  return from.y === to.y ? { line, words: { ...words, y: words.y - HEAD / 2 }, isAbove: true } : { line, words }
}

/** Returns a path along the left edges of stacked boxes. */
const around = (from: Box, to: Box, out: number): ArrowPath => {
  const shift = to.y > from.y ? 14 : -14
  const start = { x: from.x, y: middle(from) + shift }
  const end = { x: to.x - HEAD, y: middle(to) - shift }
  const x = start.x + out * 1.6
  const line = `M${start.x} ${start.y} C${x} ${start.y} ${x} ${end.y} ${end.x} ${end.y}`
  return { line, words: { x: start.x + out, y: (start.y + end.y) / 2 } }
}

const DEPTH = 64

/** Returns a path below the boxes between two boxes of the same row. */
const below = (from: Box, to: Box): ArrowPath => {
  const bottom = from.y + from.height
  const start = from.x + from.width / 2
  const end = to.x + to.width / 2
  const line = `M${start} ${bottom} C${start} ${bottom + DEPTH} ${end} ${bottom + DEPTH} ${end} ${bottom + HEAD}`
  return { line, words: { x: (start + end) / 2, y: bottom + DEPTH * 0.78 } }
}
