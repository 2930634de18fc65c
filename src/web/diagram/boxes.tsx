import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Box, Boxes } from './routes.js'

interface Measured {
  /** Width of the diagram in pixels. 0 while it is hidden. */
  readonly width: number
  readonly boxes: Boxes
}

/** Returns the boxes of the elements with `data-box`. Measures after each rendering and each change of the size. */
export const useBoxes = () => {
  const element = useRef<HTMLDivElement>(null)
  const [measured, setMeasured] = useState<Measured>({ width: 0, boxes: new Map() })
  const measure = useCallback(() => {
    const { current } = element
    if (!current) return
    const now = { width: current.clientWidth, boxes: boxesIn(current) }
    setMeasured((before) => (toText(before) === toText(now) ? before : now))
  }, [])
  useLayoutEffect(measure)
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure)
    if (element.current) observer.observe(element.current)
    return () => observer.disconnect()
  }, [measure])
  return [element, measured] as const
}

const toText = ({ width, boxes }: Measured): string => JSON.stringify([width, ...boxes])

/** Returns the boxes in pixels, relative to the element with the class `stage`. */
const boxesIn = (diagram: HTMLElement): Boxes => {
  const origin = diagram.querySelector('.stage')?.getBoundingClientRect()
  return new Map(
    [...diagram.querySelectorAll<HTMLElement>('[data-box]')].map((element): [string, Box] => {
      const { x, y, width, height } = element.getBoundingClientRect()
      return [element.dataset.box ?? '', { x: x - (origin?.x ?? 0), y: y - (origin?.y ?? 0), width, height }]
    }),
  )
}
