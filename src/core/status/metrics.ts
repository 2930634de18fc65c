import { LIMITS } from '../../base/limits.js'

export interface MetricSample {
  /** For example `vault.core.active`. */
  readonly name: string
  readonly value: number
  readonly labels?: Readonly<Record<string, string>>
}

/** The number of occurrences of an event, by labels. */
interface MetricCount {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly count: number
}

/** The number of occurrences of an event, and their total duration in milliseconds. */
interface MetricSummary extends Readonly<Omit<Summary, 'last'>> {
  readonly name: string
  /** The duration of recent events in milliseconds, by quantile. */
  readonly quantiles: ReadonlyMap<number, number>
}

export interface MetricReading {
  readonly gauges: readonly MetricSample[]
  readonly summaries: readonly MetricSummary[]
  readonly counts: readonly MetricCount[]
}

/** All answered requests, including rejected ones. */
export const HANDLED = 'vault.core.handle_request'
export const REFUSED = 'understudy.requests.refused'
/** The part of these requests that observers sent. */
export const OBSERVER_HANDLED = 'understudy.requests.observer.handled'
export const OBSERVER_REFUSED = 'understudy.requests.observer.refused'
/** Requests to auth methods that need no token. */
export const LOGINS = 'vault.core.handle_login_request'

/** Vault's quantiles. */
const QUANTILES = [0.5, 0.9, 0.99]

interface Summary {
  count: number
  sum: number
  min: number
  max: number
  /** Recent events, unordered. */
  readonly last: number[]
}

/** Counts events and records their durations. */
export class Meter {
  readonly #summaries = new Map<string, Summary>()
  readonly #counts = new Map<string, { name: string; labels: Readonly<Record<string, string>>; count: number }>()

  /** Records one event that took `ms`. */
  record(name: string, ms: number): void {
    const summary = this.#summaries.get(name)
    if (!summary) {
      this.#summaries.set(name, { count: 1, sum: ms, min: ms, max: ms, last: [ms] })
      return
    }
    summary.last[summary.count % LIMITS.metricSamplesMax] = ms
    summary.count++
    summary.sum += ms
    if (ms < summary.min) summary.min = ms
    if (ms > summary.max) summary.max = ms
  }

  /** Returns how often an event was recorded. */
  times(name: string): number {
    return this.#summaries.get(name)?.count ?? 0
  }

  /** Adds `events` to a counter with these labels. Drops new series beyond the maximum. */
  count(name: string, labels: Readonly<Record<string, string>>, events = 1): void {
    const key = `${name} ${JSON.stringify(labels)}`
    const known = this.#counts.get(key)
    if (known) known.count += events
    else if (this.#counts.size < LIMITS.metricSeriesMax) this.#counts.set(key, { name, labels, count: events })
  }

  counts(): MetricCount[] {
    return [...this.#counts.values()].map((count) => ({ ...count }))
  }

  summaries(): MetricSummary[] {
    return [...this.#summaries].map(([name, { last, ...summary }]) => {
      const sorted = [...last].sort((a, b) => a - b)
      const quantiles = new Map(QUANTILES.map((part) => [part, sorted[Math.ceil(part * sorted.length) - 1] ?? 0]))
      return { name, ...summary, quantiles }
    })
  }
}

/** Returns the numbers of answered and of rejected requests, without those of observers. */
export const clientRequests = (meter: Pick<Meter, 'times'>): { handled: number; refused: number } => ({
  handled: meter.times(HANDLED) - meter.times(OBSERVER_HANDLED),
  refused: meter.times(REFUSED) - meter.times(OBSERVER_REFUSED),
})

const promName = (name: string): string => name.replace(/[^A-Za-z0-9_]/g, '_')

/**
 * Renders the Prometheus text format. Loads the library `prom-client` on first use, because few servers are scraped.
 */
export const renderPrometheus = async ({ gauges, summaries, counts }: MetricReading): Promise<string> => {
  const { Counter, Gauge, Registry } = await import('prom-client')
  const registry = new Registry()
  for (const group of groupByName(gauges)) {
    const labelNames = [...new Set(group.flatMap(({ labels }) => Object.keys(labels ?? {})))]
    const [{ name } = { name: '' }] = group
    const gauge = new Gauge({ name: promName(name), help: name, labelNames, registers: [registry] })
    for (const { labels, value } of group) gauge.set({ ...labels }, value)
  }
  for (const group of groupByName(counts)) {
    const [{ name, labels } = { name: '', labels: {} }] = group
    const options = { name: promName(name), help: name, labelNames: Object.keys(labels), registers: [registry] }
    const counter = new Counter(options)
    for (const one of group) counter.inc({ ...one.labels }, one.count)
  }
  return `${await registry.metrics()}${summaries.map(printSummary).join('')}`
}

/**
 * Prints a summary. The library `prom-client` computes quantiles only from all durations, but the meter keeps only the
 * most recent ones.
 */
const printSummary = ({ name, count, sum, quantiles }: MetricSummary): string => {
  const metric = promName(name)
  const parts = [...quantiles].map(([part, ms]) => `${metric}{quantile="${part}"} ${ms}\n`).join('')
  return `# HELP ${metric} ${name}, milliseconds\n# TYPE ${metric} summary\n${parts}${metric}_sum ${sum}\n${metric}_count ${count}\n`
}

/** Renders Vault's JSON format. */
export const renderMetricsJson = (
  { gauges, summaries, counts }: MetricReading,
  nowMs: number,
): Record<string, unknown> => ({
  Timestamp: new Date(nowMs).toISOString().replace('T', ' ').replace('Z', ' +0000 UTC'),
  Gauges: gauges.map(({ name, value, labels }) => ({ Name: name, Value: value, Labels: labels ?? {} })),
  Points: [],
  Counters: counts.map(({ name, labels, count }) => ({
    Name: name,
    Count: count,
    Sum: count,
    Min: 1,
    Max: 1,
    Mean: 1,
    Labels: labels,
  })),
  Samples: summaries.map(({ name, count, sum, min, max }) => ({
    Name: name,
    Count: count,
    Sum: sum,
    Min: min,
    Max: max,
    Mean: count === 0 ? 0 : sum / count,
    Labels: {},
  })),
})

const groupByName = <T extends { readonly name: string }>(samples: readonly T[]): T[][] => {
  const groups = new Map<string, T[]>()
  for (const sample of samples) groups.set(sample.name, [...(groups.get(sample.name) ?? []), sample])
  return [...groups.values()]
}
