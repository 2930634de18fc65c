import type { ValueOf } from '../../documents/schema.js'
import { flagsOf } from '../../operations/lines.js'
import { askStatus, statusOf } from '../../requests/replication.js'
import { findBehind } from '../../status/links.js'
import { findMissing, READINESS, type Readiness } from '../../status/readiness.js'
import { type DrillContext, DrillFailure } from '../context/drill-context.js'
import {
  CLUSTER,
  DURATION,
  durationOf,
  exactlyOne,
  KIND,
  findMissingKeys,
  nameVariables,
  type Row,
  step,
  WANTED,
} from '../context/forms.js'
import { describeWanted, findMismatch } from '../context/matcher.js'
import { lagBetween, replicationLinks, rolesNow } from '../context/status-samples.js'
import { checkFact, describeExpectation, EXPECTATION_SCHEMAS, toExpectation } from '../expectations/expectations.js'
import { LINK_STEPS, SERVER_FAULT_STEPS, SERVER_STEPS } from './lab-steps.js'
import { REQUEST_STEPS } from './request-steps.js'
import { ROLE_STEPS } from './role-steps.js'

const WAIT = {
  type: ['string', 'object'],
  pattern: DURATION.pattern,
  title: 'a duration such as 2s, or { for, cluster, ... }',
  description: 'Waits for a state, or for a duration during which the clients continue.',
  additionalProperties: false,
  required: ['for'],
  properties: {
    for: {
      type: 'string',
      enum: [
        'answering',
        'unsealed',
        'active',
        'accepting-writes',
        'replicated',
        'converged',
        'health',
        'status',
        'lag',
      ],
      description:
        'accepting-writes: the cluster accepts a write. replicated: the secondary, or each secondary of the primary, streams. converged: every cluster is replicated and has the root of its primary. health: sys/health returns "health". status: the replication status of "kind" matches "is". lag: the number of missing entries of "primary" matches "entries".',
    },
    cluster: { ...CLUSTER, description: 'The cluster; required except for converged.' },
    within: { ...DURATION, default: '30s' },
    health: { type: 'integer', minimum: 200, maximum: 599 },
    kind: KIND,
    is: WANTED,
    primary: CLUSTER,
    entries: {
      type: 'object',
      additionalProperties: false,
      properties: { 'at-least': { type: 'integer' }, 'at-most': { type: 'integer' } },
    },
  },
} as const

type Awaited = Exclude<ValueOf<typeof WAIT>, string>

interface AwaitedFact {
  /** Required keys besides `for` and `cluster`. */
  readonly keys?: readonly string[]
  text(value: Awaited): string
  /** Returns the equivalent shell line. `at` contains the flags with the address and the CA of the cluster. */
  line(value: Awaited, at: string): string
  /** Resolves with a description of the unmet condition, or with undefined if the condition holds. */
  find(context: DrillContext, value: Awaited): Promise<string | undefined>
}

const waitLine = (what: string, { cluster }: Awaited): string => `understudy wait --for ${what} --cluster ${cluster}`

const statusLine = ({ kind }: Awaited, at: string): string => `vault read ${at} sys/replication/${kind}/status`

const readiness = (what: Readiness): AwaitedFact => ({
  text: ({ cluster }) => `wait for ${cluster} to be ${what}`,
  line: (value) => waitLine(what, value),
  find: ({ lab }, { cluster = '' }) => findMissing(lab.anonymous(cluster), what),
})

/** Writes and deletes a policy that no drill uses. Rejects if the cluster rejects the write. */
const findRefusal = (context: DrillContext, { cluster = '' }: Awaited): Promise<undefined> =>
  context.asRoot(cluster, async (client) => {
    await client.write('sys/policies/acl/drill-probe', { policy: 'path "drill-probe" { capabilities = ["deny"] }' })
    await client.delete('sys/policies/acl/drill-probe')
    return undefined
  })

const FACTS: Readonly<Record<Awaited['for'], AwaitedFact>> = {
  ...(Object.fromEntries(READINESS.map((what) => [what, readiness(what)])) as Record<Readiness, AwaitedFact>),
  'accepting-writes': {
    text: ({ cluster }) => `wait for ${cluster} to accept writes`,
    line: (value) => waitLine('active', value),
    find: findRefusal,
  },
  converged: {
    text: ({ cluster }) => `wait for ${cluster ? `${cluster} to be ` : ''}converged`,
    line: () => 'understudy wait --for replicated',
    // A drill may leave clusters down, and former primaries without a primary: only links count.
    find: async ({ lab }) =>
      findBehind(replicationLinks(await rolesNow(lab)), (name, kind) => askStatus(lab.anonymous(name), kind)),
  },
  health: {
    keys: ['health'],
    text: ({ cluster, health }) => `wait until sys/health of ${cluster} returns ${health}`,
    line: (_, at) => `vault status ${at}`,
    find: async ({ lab }, { cluster = '', health }) => {
      const { status } = await lab.anonymous(cluster).send('GET', 'sys/health')
      return status === health ? undefined : `sys/health returns ${status}`
    },
  },
  status: {
    keys: ['kind', 'is'],
    text: ({ cluster, kind = 'dr', is }) => `wait until the ${kind} status of ${cluster} has ${describeWanted(is)}`,
    line: statusLine,
    find: async ({ lab }, { cluster = '', kind = 'dr', is }) =>
      findMismatch(await statusOf(lab.anonymous(cluster), kind), is),
  },
  lag: {
    keys: ['primary', 'kind', 'entries'],
    text: ({ cluster, primary, entries }) =>
      `wait for the lag of ${cluster} behind ${primary}, in entries: ${describeWanted(entries)}`,
    line: statusLine,
    find: async ({ lab }, { cluster = '', primary = '', kind = 'dr', entries }) =>
      findMismatch(await lagBetween(lab, primary, cluster, kind), entries, 'the lag'),
  },
}

const wait = step({
  schema: WAIT,
  text: (value) => (typeof value === 'string' ? `clients continue for ${value}` : FACTS[value.for].text(value)),
  problems: (value) => {
    if (typeof value === 'string') return []
    const keys = [...(value.for === 'converged' ? [] : ['cluster']), ...(FACTS[value.for].keys ?? [])]
    return findMissingKeys(value, keys, `"for: ${value.for}"`)
  },
  async run(context, value) {
    const { lab, signal } = context
    if (typeof value === 'string') {
      context.line(`sleep ${durationOf(value) / 1000}`)
      return lab.clock.sleep(durationOf(value), signal)
    }
    const { for: name, cluster, within = '30s' } = value
    context.line(FACTS[name].line(value, cluster ? flagsOf(lab.cluster(cluster)) : ''))
    const what = name === 'converged' ? 'the lab to converge' : `${cluster} to be ${name}`
    await context.wait(what, () => FACTS[name].find(context, value), durationOf(within))
  },
})

const checkpoint = step({
  schema: {
    type: 'array',
    minItems: 1,
    description: 'Checks expectations now, except those about clients.',
    items: {
      type: 'object',
      additionalProperties: false,
      properties: EXPECTATION_SCHEMAS,
      oneOf: exactlyOne(EXPECTATION_SCHEMAS),
    },
  },
  text: (entries) => entries.map((entry) => toExpectation(entry).about).join(', '),
  async run(context, entries) {
    const failed: string[] = []
    for (const expectation of entries.map(toExpectation)) {
      const { passed, evidence } = await checkFact(context, expectation)
      if (!passed) failed.push(`${describeExpectation(expectation)}: ${evidence.join('; ')}`)
    }
    if (failed.length > 0) throw new DrillFailure(failed.join('\n'))
  },
})

const { call, write, read, run } = REQUEST_STEPS

/** All steps of drills. The schema, the checks, the texts and the runs of drills follow from this table. */
export const STEPS = {
  ...SERVER_STEPS,
  ...LINK_STEPS,
  ...SERVER_FAULT_STEPS,
  call,
  ...ROLE_STEPS,
  write,
  read,
  wait,
  checkpoint,
  run,
}

type Table = typeof STEPS

type Verb = keyof Table

/** A verb with its value. */
export type Step = {
  readonly [V in Verb]: {
    readonly verb: V
    readonly name: string | undefined
    readonly error: { readonly status?: number; readonly contains?: string } | undefined
    readonly with: ValueOf<Table[V]['schema']>
  }
}[Verb]

export const isVerb = (key: string): key is Verb => Object.hasOwn(STEPS, key)

export const rowOf = (verb: Verb): Row<DrillContext, unknown> => STEPS[verb]

export const describeStep = ({ verb, with: value }: Step): string => nameVariables(rowOf(verb).text(value))

/** Runs a step. Rejects if it cannot run, or if its result is not the expected one. */
export const runStep = async (context: DrillContext, { verb, with: value }: Step): Promise<void> => {
  // A checkpoint resolves its variables itself, because an expectation can save a variable for the next one.
  await rowOf(verb).run(context, verb === 'checkpoint' ? value : await context.resolve(value))
}
