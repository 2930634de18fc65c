import { formatTable } from '../../src/cli/terminal/output.js'
import type { ThroughputRow } from './figures/throughput.js'
import type { CpuRow } from './figures/context.js'
import { BARE_MICROS, GOALS, type Goal, NODE_ALONE, NODE_MS } from './goals.js'
import { median } from './stats.js'

export interface BenchResults {
  readonly figures: ReadonlyMap<string, readonly number[]>
  /** The figures of the program of `--beside`. */
  readonly besides: ReadonlyMap<string, readonly number[]>
  readonly notes: ReadonlyMap<string, { readonly values: readonly number[]; readonly unit: string }>
  readonly throughput: readonly ThroughputRow[]
  readonly cpu: readonly CpuRow[]
}

type Bounds = Pick<Goal, 'better' | 'must' | 'aim'>

const meets = (goal: Bounds, value: number, bound: number): boolean =>
  goal.better === 'higher' ? value >= bound : value <= bound

const verdictOf = (goal: Bounds, value: number): string => {
  if (meets(goal, value, goal.aim)) return 'aim'
  return meets(goal, value, goal.must) ? 'must' : 'MISSED'
}

const formatNumber = (value: number): string => {
  if (!Number.isFinite(value)) return '-'
  if (Math.abs(value) >= 1000) return String(Math.round(value))
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** Returns the medians of the measured figures with their goals, and all other results. */
export const toJson = ({ figures, besides, notes, throughput, cpu }: BenchResults) => ({
  figures: GOALS.flatMap((goal: Goal) => {
    const values = figures.get(goal.figure)
    if (!values) return []
    const value = median(values)
    const nodeMs = median(notes.get(NODE_ALONE)?.values ?? [NODE_MS])
    const compared = goal.isScaled ? (value * NODE_MS) / nodeMs : value
    const beside = besides.get(goal.figure)
    const other = beside && { beside: median(beside), besideRounds: beside }
    return [{ ...goal, value, rounds: values, ...other, compared, verdict: verdictOf(goal, compared) }]
  }),
  notes: [...notes].map(([name, { values, unit }]) => ({ name, value: median(values), unit, rounds: values })),
  throughput,
  cpu: cpu.map((row) => {
    const bounds = { better: 'lower', must: row.must / BARE_MICROS, aim: row.aim / BARE_MICROS } as const
    return { ...row, ...bounds, verdict: verdictOf(bounds, row.ofBare) }
  }),
})

export const toText = (results: BenchResults): string => {
  const { figures, notes, throughput, cpu } = toJson(results)
  const tables = [
    table(
      ['figure', '', 'value', 'beside', 'compared', 'must', 'aim', 'reached', 'rounds'],
      figures.map(({ figure, name, value, beside, compared, unit, must, aim, verdict, rounds }) => [
        figure,
        name,
        `${formatNumber(value)} ${unit}`.trim(),
        beside === undefined ? '-' : formatNumber(beside),
        formatNumber(compared),
        formatNumber(must),
        formatNumber(aim),
        verdict,
        rounds.map(formatNumber).join(' '),
      ]),
    ),
    table(
      ['work', 'connections', 'requests/s', 'p50 ms', 'p99 ms', 'CPU us'],
      throughput.map((row) => [
        row.work,
        String(row.connections),
        formatNumber(row.rate),
        row.p50Ms.toFixed(2),
        row.p99Ms.toFixed(2),
        row.cpuMicros.toFixed(0),
      ]),
    ),
    table(
      ['request, 64 connections', 'CPU us', 'beside', 'of bare', 'must', 'aim', 'reached'],
      cpu.map(({ work, micros, besideMicros, ofBare, must, aim, verdict }) => [
        work,
        micros.toFixed(1),
        besideMicros?.toFixed(1) ?? '-',
        ofBare.toFixed(2),
        must.toFixed(2),
        aim.toFixed(2),
        verdict,
      ]),
    ),
    table(
      ['noted', 'median', 'unit'],
      notes.map(({ name, value, unit }) => [name, formatNumber(value), unit]),
    ),
  ]
  return tables.filter((text) => text !== '').join('\n\n')
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0 ? '' : formatTable([head, ...rows])
