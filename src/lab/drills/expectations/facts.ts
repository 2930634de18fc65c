import { textOfJson } from '../../../base/json-print.js'
import type { ApiAnswer } from '../../../client/api-client.js'
import { LabError } from '../../model/lab-error.js'
import { statusOf } from '../../requests/replication.js'
import { makeCall } from '../answers.js'
import { describeError } from '../describe.js'
import { type ExpectationValues, type Fact, listOf } from '../drill.js'
import { lagBetween } from '../links-now.js'
import { findMismatch } from '../matcher.js'
import { durationOf } from '../parse.js'
import type { FactName } from '../schema/expectations.js'
import type { DrillContext } from '../drill-context.js'

/** The result of one expectation, with evidence as sentences. */
export interface Seen {
  readonly passed: boolean
  readonly evidence: readonly string[]
}

const WITHIN = '30s'

/** Polls until the expectation holds or its time is over, and returns the last observation. */
export const checkFact = async (context: DrillContext, fact: Fact): Promise<Seen> => {
  if (fact.about === 'call') return checkCall(context, fact)
  const value = await context.variables.resolve(fact.with)
  const look = LOOKS[fact.about] as (context: DrillContext, value: unknown) => Promise<Seen>
  let seen: Seen = { passed: false, evidence: [] }
  const attempt = async () => {
    seen = await look(context, value).catch((error: unknown) => {
      context.signal.throwIfAborted()
      return { passed: false, evidence: [describeError(error)] }
    })
    return seen.passed ? undefined : seen.evidence.join('; ')
  }
  await context.wait(fact.about, attempt, durationOf(value.within ?? WITHIN)).catch((error: unknown) => {
    if (error instanceof LabError && error.code === 'timeout') return
    throw error
  })
  return seen
}

const checkCall = async (context: DrillContext, { with: value }: Extract<Fact, { about: 'call' }>): Promise<Seen> => {
  try {
    return { passed: true, evidence: [await makeCall(context, value)] }
  } catch (error) {
    context.signal.throwIfAborted()
    return { passed: false, evidence: [describeError(error)] }
  }
}

const judged = (mismatch: string | undefined, evidence: readonly string[]): Seen => ({
  passed: mismatch === undefined,
  evidence: mismatch === undefined ? evidence : [...evidence, mismatch],
})

const readOn = (context: DrillContext, cluster: string, path: string): Promise<ApiAnswer> =>
  context.ask({ cluster, method: 'GET', path })

const LOOKS: {
  readonly [F in Exclude<FactName, 'call'>]: (context: DrillContext, value: ExpectationValues[F]) => Promise<Seen>
} = {
  roots: async ({ lab }, { equal, kind, differ = false }) => {
    const rootsOf = (one: 'dr' | 'performance') =>
      Promise.all(equal.map(async (name) => textOfJson((await statusOf(lab.anonymous(name), one)).merkle_root ?? '')))
    const shared = kind === undefined ? await rootsOf('performance') : []
    const roots = shared.length > 0 && shared.every((root) => root !== '') ? shared : await rootsOf(kind ?? 'dr')
    const evidence = equal.map((name, index) => `${name}: ${roots[index] || 'none'}`)
    const isEqual = new Set(roots).size === 1 && roots[0] !== ''
    const isWanted = differ ? !isEqual && roots.every((root) => root !== '') : isEqual
    return judged(isWanted ? undefined : `the roots are ${isEqual ? 'equal' : 'not equal'}`, evidence)
  },

  values: async (context, { path, on, is, differ = false }) => {
    const clusters = listOf(on)
    const answers = await Promise.all(clusters.map((name) => readOn(context, name, path)))
    const evidence = clusters.map((name, index) => `${name}: ${showAnswer(answers[index])}`)
    const refused = answers.find(({ status }) => status >= 400)
    if (refused) return judged(`a read is answered with ${refused.status}`, evidence)
    const datas = answers.map(({ json }) => json?.data)
    const mismatch = is === undefined ? undefined : datas.map((data) => findMismatch(data, is)).find(Boolean)
    if (mismatch !== undefined) return judged(mismatch, evidence)
    const isSame = datas.every((data) => JSON.stringify(sorted(data)) === JSON.stringify(sorted(datas[0])))
    return judged(isSame === differ ? `the values are ${isSame ? 'the same' : 'different'}` : undefined, evidence)
  },

  absent: async (context, { path, on }) => {
    const clusters = listOf(on)
    const answers = await Promise.all(clusters.map((name) => readOn(context, name, path)))
    const evidence = clusters.map((name, index) => `${name}: ${showAnswer(answers[index])}`)
    return judged(
      answers.every(({ status }) => status === 404) ? undefined : 'it is answered otherwise than with 404',
      evidence,
    )
  },

  'known-secondaries': async ({ lab }, { cluster, kind, are }) => {
    const { known_secondaries: known = [] } = await statusOf(lab.anonymous(cluster), kind)
    return judged(findMismatch([...(known as string[])].sort(), [...are].sort()), [
      `${cluster} knows ${JSON.stringify(known)}`,
    ])
  },

  primaries: async ({ lab }, { kind, are }) => {
    const modes = await Promise.all(
      lab.clusters.map(async ({ name }) => {
        const status = await statusOf(lab.anonymous(name), kind).catch(() => undefined)
        return { name, mode: status === undefined ? 'silent' : textOfJson(status.mode) }
      }),
    )
    const primaries = modes.filter(({ mode }) => mode === 'primary').map(({ name }) => name)
    return judged(findMismatch(primaries, [...are].sort()), [
      modes.map(({ name, mode }) => `${name}: ${mode}`).join(', '),
    ])
  },

  status: async ({ lab }, { cluster, kind, is }) => {
    const status = await statusOf(lab.anonymous(cluster), kind)
    const shown = Object.keys((is ?? {}) as object).map((key) => `${key}: ${JSON.stringify(status[key])}`)
    return judged(findMismatch(status, is), [`${cluster} has ${shown.join(', ')}`])
  },

  health: async ({ lab }, { cluster, is }) => {
    const clusters = listOf(cluster)
    const statuses = await Promise.all(
      clusters.map(async (name) => (await lab.anonymous(name).send('GET', 'sys/health')).status),
    )
    const wrong = statuses.find((status) => status !== is)
    return judged(
      wrong === undefined ? undefined : `one answers ${wrong}, not ${is}`,
      clusters.map((name, index) => `${name}: ${statuses[index]}`),
    )
  },

  lag: async ({ lab }, { primary, secondary, kind, entries }) => {
    const lag = await lagBetween(lab, primary, secondary, kind)
    return judged(findMismatch(lag, entries), [`${secondary} lacks ${lag} entries of ${primary}`])
  },

  metrics: async (context, { cluster, name, labels = {}, is, absent = false }) => {
    const answer = await askMetrics(context, cluster)
    if (answer.status !== 200) return judged(`its metrics are answered with ${answer.status}`, [])
    const series = findSeries(answer.bytes.toString('utf8'), name, labels)
    const evidence = series.map(({ text }) => `${cluster}: ${text}`)
    if (absent) return judged(series.length === 0 ? undefined : 'it is there', evidence)
    if (series.length === 0) return judged(`there is no ${name}`, [])
    const mismatch = series.map(({ value }) => findMismatch(value, is)).find(Boolean)
    return judged(mismatch, evidence)
  },

  losses: async (context, { cluster, entries, path }) => {
    const { losses } = await context.lab.anonymous(cluster).call('GET', '/_understudy/v1/losses')
    const all = (losses as { first_index: number; last_index: number; entries: { path: string }[] }[]) ?? []
    const count = all.reduce((sum, { first_index: first, last_index: last }) => sum + last - first + 1, 0)
    const paths = all.flatMap(({ entries: some }) => some.map((entry) => entry.path))
    const evidence = [`${cluster} notes ${count} entries as lost${paths.length > 0 ? `, such as ${paths[0]}` : ''}`]
    const mismatch = findMismatch(count, entries)
    if (mismatch !== undefined || path === undefined) return judged(mismatch, evidence)
    return judged(paths.includes(path) ? undefined : `none of them is ${path}`, evidence)
  },
}

const showAnswer = (answer: ApiAnswer | undefined): string =>
  answer === undefined
    ? 'no answer'
    : `${answer.status} ${JSON.stringify(answer.json?.data ?? answer.json?.errors ?? null)}`

const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value

/** Reads the metrics of a cluster: with a token or, on a DR secondary, which accepts none, from an Understudy endpoint. */
const askMetrics = async (context: DrillContext, cluster: string): Promise<ApiAnswer> => {
  const { mode } = await statusOf(context.lab.anonymous(cluster), 'dr')
  if (mode === 'secondary') return context.lab.anonymous(cluster).send('GET', '/_understudy/v1/metrics')
  return context.ask({ cluster, method: 'GET', path: 'sys/metrics', query: { format: 'prometheus' } })
}

/** One line of the Prometheus text format. */
interface Series {
  readonly value: number
  readonly text: string
}

/** Finds the series of a metric that have at least these labels. */
export const findSeries = (text: string, name: string, labels: Readonly<Record<string, string>>): Series[] =>
  text.split('\n').flatMap((line) => {
    const [, metric, inner = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/.exec(line) ?? []
    if (metric !== name || value === undefined) return []
    const has = (key: string, wanted: string) => inner.includes(`${key}="${wanted}"`)
    if (!Object.entries(labels).every(([key, wanted]) => has(key, wanted))) return []
    return [{ value: Number(value), text: line }]
  })
