import type { Box, Layout } from './layout.js'

interface Point {
  readonly x: number
  readonly y: number
}

/** The line of an arrow as SVG, and the position of its label. */
interface ArrowPath {
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

/** Returns a path below a box between the two. */
const below = (from: Box, to: Box): ArrowPath => {
  const bottom = from.y + from.height
  const start = from.x + from.width / 2
  const end = to.x + to.width / 2
  const line = `M${start} ${bottom} C${start} ${bottom + DEPTH} ${end} ${bottom + DEPTH} ${end} ${bottom + HEAD}`
  return { line, words: { x: (start + end) / 2, y: bottom + DEPTH * 0.78 } }
}
