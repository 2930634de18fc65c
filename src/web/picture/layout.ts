import type { Field } from './places.js'

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
  const boxes = [...places].map(
    ([name, { column, row }]) =>
      [
        name,
        {
          x: left + column * (boxWidth + gap),
          y: top + row * (tall + ROW_GAP),
          width: boxWidth,
          height: tall,
        },
      ] as const,
  )
  const height = top + MARGIN + rows * tall + (rows - 1) * ROW_GAP + (columns > 2 ? FOOT : 0)
  return { width, height, boxes: new Map(boxes), isStacked: false, isRoomy }
}

const stack = (places: ReadonlyMap<string, Field>, width: number, tall: number): Layout => {
  const boxes = [...places.keys()].map(
    (name, index) =>
      [
        name,
        { x: GUTTER, y: MARGIN + index * (tall + STACK_GAP), width: width - GUTTER - MARGIN, height: tall },
      ] as const,
  )
  const height = 2 * MARGIN + places.size * (tall + STACK_GAP) - STACK_GAP
  return { width, height, boxes: new Map(boxes), isStacked: true, isRoomy: false }
}
