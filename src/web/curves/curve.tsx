import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { SHORT_TIME } from '../parts/times.js'
import { COMPACT } from '../parts/words.js'
import {
  type Curves,
  describe,
  type Line,
  type Phase,
  phasesOf,
  plainCurves,
  requestCurves,
  type Sample,
} from './curves-of.js'
import type { PageEvent } from '../../lab/web/page-facts.js'

interface CurveProps {
  readonly title: string
  /** The unit in words, for example `entries`. */
  readonly unit: string
  readonly curves: Curves
  readonly phases: readonly Phase[]
}

/** Returns the height of a chart in pixels: a sixth of the window, so that a projector shows diagram and charts. */
const chartHeight = (): number => Math.min(220, Math.max(118, Math.round(window.innerHeight / 6)))
/** Minimum time span of a chart, in seconds. */
const SPAN_MIN = 60
const COLOURS = 6
const DARK = window.matchMedia('(prefers-color-scheme: dark)')
/** Dash patterns. After all colors are used, the next curves repeat them with the next pattern. */
const DASHES: readonly number[][] = [[], [8, 4], [2, 3]]

/** A chart of several curves. The text beside it states the same values for screen readers. */
const Curve = ({ title, unit, curves, phases }: CurveProps) => {
  const element = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const shaded = useRef(phases)
  shaded.current = phases
  const names = curves.lines.map(({ name }) => name).join('\n')
  const [isDark, setDark] = useState(DARK.matches)
  useEffect(() => {
    const update = () => setDark(DARK.matches)
    DARK.addEventListener('change', update)
    return () => DARK.removeEventListener('change', update)
  }, [])
  useEffect(() => {
    const { current } = element
    if (!current) return undefined
    const made = new uPlot(optionsFor(curves.lines, current.clientWidth, shaded), dataOf(curves), current)
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: current.clientWidth, height: chartHeight() }))
    observer.observe(current)
    return () => {
      observer.disconnect()
      made.destroy()
    }
  }, [names, isDark])
  useEffect(() => plot.current?.setData(dataOf(curves)), [curves])
  return (
    <figure class="curve" data-samples={curves.times.length} data-phases={phases.length}>
      <figcaption>{title}</figcaption>
      <div ref={element} aria-hidden="true" />
      <ul class="legend" aria-hidden="true">
        {curves.lines.map((line, index) => (
          <li key={line.name}>
            <LineSample line={line} index={index} /> {line.name}
          </li>
        ))}
      </ul>
      <p class="unseen">{describe(curves, unit)}</p>
    </figure>
  )
}

const colourOf = ({ isRefusals }: Line, index: number): string =>
  isRefusals ? '--bad' : `--curve-${(index % COLOURS) + 1}`
const dashOf = (index: number): number[] => DASHES[Math.floor(index / COLOURS) % DASHES.length] ?? []

const LineSample = ({ line, index }: { readonly line: Line; readonly index: number }) => (
  <svg width="20" height="8" aria-hidden="true">
    <path
      d="M1 4H19"
      stroke={`var(${colourOf(line, index)})`}
      stroke-width="3"
      stroke-dasharray={dashOf(index).join(' ')}
    />
  </svg>
)

const dataOf = ({ times, lines }: Curves): uPlot.AlignedData => [[...times], ...lines.map(({ values }) => [...values])]

/**
 * Returns the value of a CSS color variable, for light or dark mode. The value is read once for each chart, because
 * reading it recalculates the styles of the whole page.
 */
const readColour = (name: string): string => {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

const optionsFor = (
  lines: readonly Line[],
  width: number,
  phases: { readonly current: readonly Phase[] },
): uPlot.Options => {
  const axis = {
    stroke: readColour('--soft'),
    grid: { stroke: readColour('--line'), width: 1 },
    ticks: { show: false },
  }
  const [bad, good] = [readColour('--bad'), readColour('--curve-1')]
  return {
    width,
    height: chartHeight(),
    // Space for the right half of the last time label, which is centered at the right edge.
    padding: [null, 32, null, null],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: true, range: spanOf },
      y: { range: (_, __, max) => [0, Math.max(1, max) * 1.05] },
    },
    axes: [
      {
        ...axis,
        space: 80,
        size: 30,
        font: FONT,
        values: (_, times) => times.map((time) => SHORT_TIME.format(time * 1000)),
      },
      {
        ...axis,
        size: 46,
        font: FONT,
        incrs: AXIS_STEPS,
        values: (_, counts) => counts.map((count) => COMPACT.format(count)),
      },
    ],
    series: [
      {},
      ...lines.map((line, index) => ({
        label: line.name,
        stroke: readColour(colourOf(line, index)),
        width: 2,
        dash: dashOf(index),
        points: { show: false },
      })),
    ],
    hooks: { drawClear: [(drawn) => shade(drawn, phases.current, ({ hasFailed }) => (hasFailed ? bad : good))] },
  }
}

/** Returns the first and last time of the axis, in seconds. uPlot's own range would be a day for a single sample. */
const spanOf = ({ data: [times] }: uPlot): [number, number] => {
  const last = times.at(-1) ?? 0
  return [Math.min(times[0] ?? last, last - SPAN_MIN), last]
}

const FONT = '14px system-ui, sans-serif'
/** Steps between the labels of the value axis. All values are counts, so no step is a fraction. */
const AXIS_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000, 100_000, 1_000_000]

/** Shades the phases behind the curves, alternately darker and lighter. */
const shade = (drawn: uPlot, phases: readonly Phase[], colourOf: (phase: Phase) => string): void => {
  const { ctx, bbox } = drawn
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  for (const [index, phase] of phases.entries()) {
    const { from, to } = phase
    const left = drawn.valToPos(from, 'x', true)
    ctx.globalAlpha = index % 2 === 0 ? 0.3 : 0.15
    ctx.fillStyle = colourOf(phase)
    ctx.fillRect(left, bbox.top, Math.max(1, drawn.valToPos(to, 'x', true) - left), bbox.height)
  }
  ctx.restore()
}

interface CurvesProps {
  readonly samples: readonly Sample[]
  readonly events: readonly PageEvent[]
}

const CURVES = [
  { of: 'lag', title: 'Replication lag (entries)', unit: 'entries' },
  { of: 'requests', title: 'Requests per second', unit: 'per second' },
  { of: 'wal', title: 'WAL index', unit: '' },
] as const

/** The charts of the last 15 minutes. They begin when the page was opened. */
export const CurvesView = ({ samples, events }: CurvesProps) => {
  const shown = useMemo(
    () => ({
      lag: plainCurves(samples, 'lag'),
      requests: requestCurves(samples),
      wal: plainCurves(samples, 'wal'),
    }),
    [samples],
  )
  const phases = useMemo(() => phasesOf(events, samples.at(-1)?.atMs ?? 0), [events, samples])
  return (
    <section class="curves" aria-labelledby="curves-title">
      <h2 id="curves-title" class="unseen">
        Charts of the last 15 minutes
      </h2>
      {CURVES.filter(({ of }) => shown[of].lines.length > 0).map(({ of, ...words }) => (
        <Curve key={of} {...words} curves={shown[of]} phases={phases} />
      ))}
    </section>
  )
}
