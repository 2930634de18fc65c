import type { Arrow } from '../parts/words.js'
import type { Places } from './places.js'

/**
 * The gap before a column (`x`) or above a row (`y`) of clusters, by its number. Arrows run only in gaps, so they never
 * cross a cluster or its labels.
 */
type Gap = `${'x' | 'y'}${number}`

type Link = Pick<Arrow, 'key' | 'primary' | 'secondary' | 'state'>

/** The course of an arrow from its primary to its label, which is at the top of its secondary. */
interface Route {
  readonly link: Link
  /** The side of the primary. */
  readonly start: 'left' | 'right' | 'bottom'
  /** The side of the secondary. */
  readonly end: 'left' | 'right' | 'top'
  /** The gaps that the arrow follows, in this order. Empty for a straight line down. */
  readonly gaps: readonly Gap[]
  /** Rank among the arrows that start at the same side, from top to bottom. */
  readonly startRank: number
  /** Rank among the arrows in the same gap, from left to right. Both ranks avoid crossings. */
  readonly laneRank: number
}

/** The grid of a diagram, with the routes of its arrows. */
export interface Plan {
  readonly places: Places
  readonly columns: number
  readonly rows: number
  readonly routes: readonly Route[]
  /** The arrows in each gap, in the order of their lanes. */
  readonly lanes: ReadonlyMap<Gap, readonly Route[]>
}

export const planRoutes = (places: Places, links: readonly Link[]): Plan => {
  const routes = links.flatMap((link, index) => {
    const isFirst = links.findIndex(({ secondary }) => secondary === link.secondary) === index
    return findRoute(places, link, isFirst) ?? []
  })
  const lanes = new Map<Gap, Route[]>()
  for (const route of routes.toSorted((one, other) => one.laneRank - other.laneRank))
    for (const gap of route.gaps) lanes.set(gap, [...(lanes.get(gap) ?? []), route])
  const count = (numbers: readonly number[]) => 1 + Math.max(0, ...numbers)
  const all = [...places.values()]
  return {
    ...{ places, routes, lanes },
    columns: count(all.map(({ column }) => column)),
    rows: count(all.map(({ row }) => row)),
  }
}

/** `isFirst`: true if the label of the arrow is the topmost one of its secondary, where a straight line can end. */
const findRoute = (places: Places, link: Link, isFirst: boolean): Route | undefined => {
  const [from, to] = [places.get(link.primary), places.get(link.secondary)]
  if (!from || !to) return undefined
  const rows = to.row - from.row
  const distance = Math.abs(rows)
  if (from.column === to.column) {
    if (rows === 1 && isFirst) return { link, start: 'bottom', end: 'top', gaps: [], startRank: 0, laneRank: 0 }
    return { link, start: 'left', end: 'left', gaps: [`x${from.column}`], startRank: -rows, laneRank: -distance }
  }
  const isRight = to.column > from.column
  const [out, into] = isRight ? [from.column + 1, to.column] : [from.column, to.column + 1]
  return {
    ...{ link, start: isRight ? 'right' : 'left', end: isRight ? 'left' : 'right' },
    gaps: out === into ? [`x${out}`] : [`x${out}`, `y${to.row}`, `x${into}`],
    ...{ startRank: rows, laneRank: isRight ? -distance : distance },
  }
}

/** Length of an arrowhead, which is drawn past the end of the line. This and the following lengths are in pixels. */
const HEAD = 12
/** Distance between two lanes: parallel arrows in one gap. */
const LANE = 14
/** Distance between a lane and a cluster: an arrowhead and a rounded corner. */
const PAD = HEAD + 10
/** Distance between the left edge of the diagram and the first lane. */
const EDGE = 6
const ROW_GAP = 38
const COLUMN_MIN = 168
const COLUMN_MAX = 480

const widthOf = ({ lanes }: Plan, column: number): number => {
  const count = lanes.get(`x${column}`)?.length ?? 0
  if (column > 0) return 2 * PAD + LANE * Math.max(1, count)
  return count === 0 ? 0 : EDGE + PAD + LANE * (count - 1)
}

const heightOf = ({ lanes }: Plan, row: number): number =>
  (row === 0 ? 0 : ROW_GAP) + LANE * (lanes.get(`y${row}`)?.length ?? 0)

const each = (count: number): readonly number[] => [...Array(count).keys()]

const widthOfAll = (plan: Plan, column: number): number =>
  each(plan.columns).reduce((sum, at) => sum + widthOf(plan, at) + column, 0)

/** Returns true if the columns of a plan are wide enough to read in a diagram of this width. */
export const fits = (plan: Plan, width: number): boolean => widthOfAll(plan, COLUMN_MIN) <= width

/** Returns the style of the grid: before each column and row of clusters, a gap for arrows. */
export const gridStyle = (plan: Plan) => ({
  gridTemplateColumns: each(plan.columns)
    .map((at) => `minmax(${widthOf(plan, at)}px, ${at === 0 ? 0 : 0.2}fr) minmax(0, 1fr)`)
    .join(' '),
  gridTemplateRows: each(plan.rows)
    .map((at) => `${heightOf(plan, at)}px auto`)
    .join(' '),
  maxWidth: `${widthOfAll(plan, COLUMN_MAX)}px`,
})

/** Returns the style that puts a cluster into its cell of the grid. */
export const cellStyle = ({ places }: Plan, name: string) => {
  const { column, row } = places.get(name) ?? { column: 0, row: 0 }
  return { gridArea: `${2 * row + 2} / ${2 * column + 2}` }
}

export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** The drawn clusters and labels, by `cluster A` and `link dr B`. */
export type Boxes = ReadonlyMap<string, Box>

/** Returns the SVG paths of the arrows by key. An arrow without its boxes is omitted. */
export const drawRoutes = (plan: Plan, boxes: Boxes): ReadonlyMap<string, string> =>
  new Map(
    plan.routes.flatMap((route) => {
      const points = pointsOf(plan, route, boxes)
      return points ? [[route.link.key, drawLine(points)]] : []
    }),
  )

interface Point {
  readonly x: number
  readonly y: number
}

const pointsOf = (plan: Plan, route: Route, boxes: Boxes): readonly Point[] | undefined => {
  const { link, start, end, gaps } = route
  const from = boxes.get(`cluster ${link.primary}`)
  const to = boxes.get(`cluster ${link.secondary}`)
  const label = boxes.get(`link ${link.key}`)
  if (!from || !to || !label) return undefined
  const tail = link.state === 'split' ? HEAD : 0
  if (start === 'bottom') {
    const x = from.x + from.width / 2
    return [
      { x, y: from.y + from.height + tail },
      { x, y: to.y - HEAD },
    ]
  }
  const endY = label.y + label.height / 2
  const first = { x: sideOf(from, start, tail), y: startOf(route, from, endY, [plan, boxes]) }
  const last = { x: sideOf(to, end === 'right' ? 'right' : 'left', HEAD), y: endY }
  const turns: Point[] = []
  for (const gap of gaps) {
    const before = turns.at(-1) ?? first
    const at = laneAt(plan, route, gap, boxes)
    turns.push(gap.startsWith('x') ? { x: at, y: before.y } : { x: before.x, y: at })
  }
  return [first, ...turns, { x: turns.at(-1)?.x ?? first.x, y: endY }, last]
}

const sideOf = ({ x, width }: Box, side: 'left' | 'right', distance: number): number =>
  side === 'left' ? x - distance : x + width + distance

/** Returns the y at which an arrow leaves its primary: below the labels, and as close to `endY` as possible. */
const startOf = (route: Route, from: Box, endY: number, [{ routes }, boxes]: readonly [Plan, Boxes]): number => {
  const { primary } = route.link
  const labels = routes.flatMap(({ link }) => (link.secondary === primary ? (boxes.get(`link ${link.key}`) ?? []) : []))
  const top = Math.max(from.y, ...labels.map(({ y, height }) => y + height))
  const beside = routes
    .filter(({ link, start }) => link.primary === primary && start === route.start)
    .toSorted((one, other) => one.startRank - other.startRank)
  const bottom = from.y + from.height
  const step = Math.min(LANE, (bottom - top) / (beside.length + 1))
  const index = beside.indexOf(route)
  return Math.min(Math.max(endY, top + (index + 1) * step), bottom - (beside.length - index) * step)
}

/** Returns the position of the lane of an arrow: the x in a gap between columns, the y in a gap between rows. */
const laneAt = ({ places, lanes }: Plan, route: Route, gap: Gap, boxes: Boxes): number => {
  const isColumn = gap.startsWith('x')
  const index = Number(gap.slice(1))
  const boxesAt = (wanted: number) =>
    [...places].flatMap(([name, { column, row }]) =>
      (isColumn ? column : row) === wanted ? (boxes.get(`cluster ${name}`) ?? []) : [],
    )
  const ends = boxesAt(index - 1).map(({ x, y, width, height }) => (isColumn ? x + width : y + height))
  const starts = boxesAt(index).map(({ x, y }) => (isColumn ? x : y))
  const middle = (Math.max(0, ...ends) + Math.min(...starts) - (gap === 'x0' ? PAD : 0)) / 2
  const routes = lanes.get(gap) ?? []
  return middle + (routes.indexOf(route) - (routes.length - 1) / 2) * LANE
}

/** Returns the SVG path of a line with rounded corners. */
const drawLine = (all: readonly Point[]): string => {
  const points = all.filter(({ x, y }, index) => x !== all[index - 1]?.x || y !== all[index - 1]?.y)
  return points
    .map((point, index) => {
      const [before, after] = [points[index - 1], points[index + 1]]
      if (!before || !after) return `${before ? 'L' : 'M'}${toText(point)}`
      return `L${toText(towards(point, before))} Q${toText(point)} ${toText(towards(point, after))}`
    })
    .join(' ')
}

const toText = ({ x, y }: Point): string => `${x} ${y}`

const RADIUS = 8

/** Returns the point on the line to `to` at which the rounding of a corner at `from` starts or ends. */
const towards = (from: Point, to: Point): Point => {
  const share = Math.min(0.5, RADIUS / Math.hypot(to.x - from.x, to.y - from.y))
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share }
}
