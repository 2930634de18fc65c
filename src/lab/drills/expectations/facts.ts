import { counted } from '../../../base/counted.js'
import type { ApiAnswer } from '../../../client/api-client.js'
import type { Schema } from '../../documents/schema.js'
import { countLost, readLosses } from '../../requests/losses.js'
import type { Kind } from '../../model/kinds.js'
import { askStatus, statusOf } from '../../requests/replication.js'
import { askReplaced } from '../../status/replaced.js'
import { makeCall } from '../context/answers.js'
import type { DrillContext } from '../context/drill-context.js'
import {
  CALL,
  type CallValue,
  CLUSTER,
  CLUSTERS,
  COUNT,
  DURATION,
  fact,
  KIND,
  listOf,
  mapOf,
  NAMES,
  ON_KIND,
  PAIR,
  type CheckResult,
  WANTED,
} from '../context/forms.js'
import { describeWanted, findMismatch, isEqual } from '../context/matcher.js'
import { lagBetween } from '../context/status-samples.js'

const WITHIN = { ...DURATION, default: '30s', description: 'Maximum time of repeated checks; 0s checks once.' } as const

const facts = <const P extends Readonly<Record<string, Schema>>, const R extends keyof P & string>(
  description: string,
  required: readonly R[],
  properties: P,
) => mapOf(description, required, { ...properties, within: WITHIN })

const judged = (mismatch: string | undefined, evidence: readonly string[]): CheckResult => ({
  passed: mismatch === undefined,
  evidence: mismatch === undefined ? evidence : [...evidence, mismatch],
})

/** Reads a path on clusters. Returns the responses, and each response as a line of evidence. */
const readOn = async (context: DrillContext, clusters: readonly string[], path: string) => {
  const answers = await Promise.all(clusters.map((cluster) => context.ask({ cluster, method: 'GET', path })))
  const evidence = answers.map(({ status, json }, index) => {
    return `${clusters[index]}: ${status} ${JSON.stringify(json?.data ?? json?.errors ?? null)}`
  })
  return { answers, evidence }
}

export const FACTS = {
  roots: fact({
    schema: facts('Clusters have the same Merkle root.', ['equal'], {
      equal: { type: 'array', minItems: 2, items: CLUSTER },
      kind: {
        ...KIND,
        description: 'Default: performance if all clusters have a root for performance replication, otherwise dr.',
      },
      differ: { type: 'boolean', default: false, description: 'The roots must differ.' },
    }),
    text: ({ equal, differ }) => `merkle roots of ${equal.join(', ')} are ${differ ? 'different' : 'equal'}`,
    async run({ lab }, { equal, kind, differ = false }) {
      const rootsOf = (one: Kind) =>
        Promise.all(equal.map(async (name) => (await askStatus(lab.anonymous(name), one)).merkleRoot))
      const shared = kind === undefined ? await rootsOf('performance') : []
      const roots = shared.length > 0 && shared.every((root) => root !== '') ? shared : await rootsOf(kind ?? 'dr')
      const evidence = equal.map((name, index) => `${name}: ${roots[index] || 'none'}`)
      const isSame = new Set(roots).size === 1 && roots[0] !== ''
      const isWanted = differ ? !isSame && roots.every((root) => root !== '') : isSame
      return judged(isWanted ? undefined : `the roots are ${isSame ? 'equal' : 'not equal'}`, evidence)
    },
  }),
  values: fact({
    schema: facts(
      'Clusters return the same value for a path, read with their root tokens. With "is", the value must also match.',
      ['path', 'on'],
      {
        path: { type: 'string', description: 'Path of the API.' },
        on: CLUSTERS,
        is: { ...WANTED, description: 'Expected value of "data"; see "Compare values".' },
        differ: { type: 'boolean', default: false, description: 'The values of two clusters must differ.' },
      },
    ),
    text: ({ path, on, is, differ }) => {
      const wanted = is === undefined ? '' : `: ${describeWanted(is)}`
      return `${path} has ${differ ? 'different values' : 'the same value'} on ${listOf(on).join(', ')}${wanted}`
    },
    async run(context, { path, on, is, differ = false }) {
      const { answers, evidence } = await readOn(context, listOf(on), path)
      const refused = answers.find(({ status }) => status >= 400)
      if (refused) return judged(`a read returned the status ${refused.status}`, evidence)
      const datas = answers.map(({ json }) => json?.data)
      const mismatch = is === undefined ? undefined : datas.map((data) => findMismatch(data, is)).find(Boolean)
      if (mismatch !== undefined) return judged(mismatch, evidence)
      const isSame = datas.every((data) => isEqual(data, datas[0]))
      return judged(isSame === differ ? `the values are ${isSame ? 'the same' : 'different'}` : undefined, evidence)
    },
  }),
  absent: fact({
    schema: facts('A path returns 404 on all of these clusters.', ['path', 'on'], {
      path: { type: 'string' },
      on: CLUSTERS,
    }),
    text: ({ path, on }) => `${path} does not exist on ${listOf(on).join(', ')}`,
    async run(context, { path, on }) {
      const { answers, evidence } = await readOn(context, listOf(on), path)
      const isAbsent = answers.every(({ status }) => status === 404)
      return judged(isAbsent ? undefined : 'the status is not 404 on every cluster', evidence)
    },
  }),
  'known-secondaries': fact({
    schema: facts('All secondary IDs that a primary knows.', ['cluster', 'kind', 'are'], { ...ON_KIND, are: NAMES }),
    text: ({ cluster, kind, are }) => `${kind} secondaries that ${cluster} knows: ${are.join(', ') || 'none'}`,
    async run({ lab }, { cluster, kind, are }) {
      const { knownSecondaries: known } = await askStatus(lab.anonymous(cluster), kind)
      const evidence = [`${cluster} knows ${JSON.stringify(known)}`]
      return judged(findMismatch(known.toSorted(), are.toSorted()), evidence)
    },
  }),
  primaries: fact({
    schema: facts('Exactly these clusters report the role primary for this kind of replication.', ['kind', 'are'], {
      kind: KIND,
      are: { type: 'array', items: CLUSTER, description: 'All primaries. An empty list means no primary.' },
    }),
    text: ({ kind, are }) => `${kind} primaries are: ${are.join(', ') || 'none'}`,
    async run({ lab }, { kind, are }) {
      const modes = await Promise.all(
        lab.clusters.map(async ({ name }) => {
          const status = await askStatus(lab.anonymous(name), kind).catch(() => undefined)
          return { name, mode: status?.mode ?? 'unreachable' }
        }),
      )
      const primaries = modes.filter(({ mode }) => mode === 'primary').map(({ name }) => name)
      const evidence = modes.map(({ name, mode }) => `${name}: ${mode}`).join(', ')
      return judged(findMismatch(primaries, [...are].sort()), [evidence])
    },
  }),
  status: fact({
    schema: facts('Fields of sys/replication/KIND/status.', ['cluster', 'kind', 'is'], { ...ON_KIND, is: WANTED }),
    text: ({ cluster, kind, is }) => `${kind} status of ${cluster} has ${describeWanted(is)}`,
    async run({ lab }, { cluster, kind, is }) {
      const status = await statusOf(lab.anonymous(cluster), kind)
      const shown = Object.keys((is ?? {}) as object).map((key) => `${key}: ${JSON.stringify(status[key])}`)
      return judged(findMismatch(status, is), [`${cluster} has ${shown.join(', ')}`])
    },
  }),
  health: fact({
    schema: facts('Status of sys/health.', ['cluster', 'is'], {
      cluster: CLUSTERS,
      is: { type: 'integer', minimum: 200, maximum: 599 },
    }),
    text: ({ cluster, is }) => `sys/health of ${listOf(cluster).join(', ')} returns ${is}`,
    async run({ lab }, { cluster, is }) {
      const healthOf = async (name: string) => (await lab.anonymous(name).send('GET', 'sys/health')).status
      const statuses = await Promise.all(listOf(cluster).map(healthOf))
      const wrong = statuses.find((status) => status !== is)
      return judged(
        wrong === undefined ? undefined : `a cluster returns the status ${wrong}, not ${is}`,
        listOf(cluster).map((name, index) => `${name}: ${statuses[index]}`),
      )
    },
  }),
  lag: fact({
    schema: facts('Log entries that a secondary has not applied.', ['primary', 'secondary', 'kind', 'entries'], {
      ...PAIR,
      kind: KIND,
      entries: COUNT,
    }),
    text: ({ primary, secondary, entries }) =>
      `entries of ${primary} that ${secondary} lacks: ${describeWanted(entries)}`,
    async run({ lab }, { primary, secondary, kind, entries }) {
      const lag = await lagBetween(lab, primary, secondary, kind)
      return judged(findMismatch(lag, entries), [
        `${secondary} lacks ${counted(lag, 'entry', 'entries')} of ${primary}`,
      ])
    },
  }),
  metrics: fact({
    schema: facts('A metric of sys/metrics in Prometheus format.', ['cluster', 'name'], {
      cluster: CLUSTER,
      name: { type: 'string', description: 'For example vault_core_replication_dr_primary.' },
      labels: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Labels that the series must have.',
      },
      is: { ...WANTED, description: 'A number, or { at-least, at-most }.' },
      absent: { type: 'boolean', default: false, description: 'No such series exists.' },
    }),
    text: ({ cluster, name, is, absent }) =>
      `metric ${name} of ${cluster} is ${absent ? 'absent' : describeWanted(is)}`,
    problems: ({ is, absent = false }) =>
      (is !== undefined) !== absent ? [] : ['metrics needs either "is" or "absent: true"'],
    async run(context, { cluster, name, labels = {}, is, absent = false }) {
      const answer = await askMetrics(context, cluster)
      if (answer.status !== 200) return judged(`the request for metrics returns ${answer.status}`, [])
      const series = findSeries(answer.bytes.toString('utf8'), name, labels)
      const evidence = series.map(({ text }) => `${cluster}: ${text}`)
      if (absent) return judged(series.length === 0 ? undefined : 'the series exists', evidence)
      if (series.length === 0) return judged(`the metric ${name} does not exist`, [])
      const mismatch = series.map(({ value }) => findMismatch(value, is)).find(Boolean)
      return judged(mismatch, evidence)
    },
  }),
  losses: fact({
    schema: facts('Lost entries that a cluster lists. Fails before a former primary rejoins.', ['cluster', 'entries'], {
      cluster: CLUSTER,
      entries: COUNT,
      path: { type: 'string', description: 'At least one lost entry has this path.' },
    }),
    text: ({ cluster, entries }) => `entries that ${cluster} lists as lost: ${describeWanted(entries)}`,
    async run(context, { cluster, entries, path }) {
      const replaced = (await askReplaced(context.lab)).find(({ name }) => name === cluster)
      if (replaced) return judged(`the losses of ${cluster} are not known before it follows ${replaced.successor}`, [])
      const losses = await readLosses(context.lab.anonymous(cluster))
      const count = countLost(losses)
      const paths = losses.flatMap(({ entries: some }) => some.map((entry) => entry.path))
      const lost = counted(count, 'entry', 'entries')
      const evidence = [`${cluster} lists ${lost} as lost${paths.length > 0 ? `, such as ${paths[0]}` : ''}`]
      const mismatch = findMismatch(count, entries)
      if (mismatch !== undefined || path === undefined) return judged(mismatch, evidence)
      return judged(paths.includes(path) ? undefined : `no lost entry has the path ${path}`, evidence)
    },
  }),
  call: fact({
    schema: { ...CALL, description: 'A request and the expected response; see the step call.' },
    text: ({ cluster, method = 'GET', path }) => `${method} ${path} on ${cluster} returns the expected response`,
    async run(context, value) {
      return judged(undefined, [await makeCall(context, (await context.resolve(value)) as CallValue)])
    },
  }),
}

/** Reads the metrics of a cluster with a token. For a DR secondary, which accepts no token, reads the lab endpoint. */
const askMetrics = async (context: DrillContext, cluster: string): Promise<ApiAnswer> => {
  const { mode } = await askStatus(context.lab.anonymous(cluster), 'dr')
  if (mode === 'secondary') return context.lab.anonymous(cluster).send('GET', '/_understudy/v1/metrics')
  return context.ask({ cluster, method: 'GET', path: 'sys/metrics', query: { format: 'prometheus' } })
}

/** Finds the series of a metric with at least these labels, in the Prometheus text format. `text`: the line. */
export const findSeries = (text: string, name: string, labels: Readonly<Record<string, string>>) =>
  text.split('\n').flatMap((line) => {
    const [, metric, inner = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/.exec(line) ?? []
    if (metric !== name || value === undefined) return []
    const has = (key: string, wanted: string) => inner.includes(`${key}="${wanted}"`)
    if (!Object.entries(labels).every(([key, wanted]) => has(key, wanted))) return []
    return [{ value: Number(value), text: line }]
  })
