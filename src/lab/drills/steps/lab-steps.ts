import { findBetween } from '../../daemon/active-fault.js'
import { SERVER_VERBS, type ServerVerb } from '../../model/server-verbs.js'
import { LINK_FAULTS, type LinkFaultName, makeLinkFault } from '../../proxy/link-faults.js'
import type { DrillContext } from '../context/drill-context.js'
import { CLUSTER, DURATION, durationOf, KIND, lacks, listOf, mapOf, SERVER, SERVERS } from '../context/forms.js'
import { step } from './step.js'

const serverStep = (verb: ServerVerb) =>
  step({
    schema: { ...SERVERS, description: SERVER_VERBS[verb].step },
    text: (clusters) => `${verb} ${listOf(clusters).join(', ')}`,
    async run(context, clusters) {
      for (const name of listOf(clusters)) {
        context.line(`understudy ${verb} ${name}`)
        await context.lab.work(verb, name, context.timeoutMs)
      }
    },
  })

/** Steps on the servers of clusters, with the verbs of the commands. */
export const SERVER_STEPS = Object.fromEntries(
  Object.keys(SERVER_VERBS).map((verb) => [verb, serverStep(verb as ServerVerb)]),
) as Readonly<Record<ServerVerb, ReturnType<typeof serverStep>>>

type FieldKey = (typeof LINK_FAULTS)[LinkFaultName]['fields'][number]['key']

const FAULT_FIELDS = Object.entries(LINK_FAULTS).flatMap(([fault, { fields }]) =>
  fields.map((field) => ({ fault, ...field })),
)

/** Returns the schema of a number. The fault gives the key its meaning. */
const numberOf = (key: FieldKey) => {
  const fields = FAULT_FIELDS.filter((field) => field.key === key)
  const description = `Of ${fields.map(({ fault, about }) => `${fault}: ${about}`).join('. Of ')}.`
  return fields.some(({ unit }) => unit === 'ms')
    ? { ...DURATION, description }
    : ({ type: 'integer', minimum: 1, description } as const)
}

const FAULT_NUMBERS = Object.fromEntries(FAULT_FIELDS.map(({ key }) => [key, numberOf(key)])) as Readonly<
  Record<FieldKey, ReturnType<typeof numberOf>>
>

const BETWEEN = { type: 'array', minItems: 2, items: SERVER, title: 'a list of two clusters or nodes' } as const

const twoClusters = ([one, other, ...more]: readonly string[]): string[] =>
  one === other || more.length > 0 ? ['"between" must be two different clusters'] : []

export const LINK_STEPS = {
  fault: step({
    schema: mapOf(
      'Sets a fault on the link of two clusters, until it is healed or its time is over.',
      ['name', 'between'],
      {
        name: {
          type: 'string',
          description:
            'partition: nothing passes. hold: bytes wait. down: connections are refused. Others as in toxiproxy.',
          enum: Object.keys(LINK_FAULTS) as LinkFaultName[],
        },
        between: BETWEEN,
        'one-way': { type: 'boolean', default: false, description: 'Only what the first cluster sends is met.' },
        for: { ...DURATION, description: 'It heals by itself after so long.' },
        ...FAULT_NUMBERS,
      },
    ),
    needs: 'links',
    text: ({ name, between, 'one-way': isOneWay, for: duration }) =>
      `${name} ${between.join(isOneWay ? ' -> ' : ' <-> ')}${duration ? ` for ${duration}` : ''}`,
    problems: ({ name, between, ...numbers }) => {
      const required = LINK_FAULTS[name].fields.filter(({ isOptional }) => !isOptional)
      const keys = required.map(({ key }) => key)
      return [...twoClusters(between), ...lacks(numbers, keys, name)]
    },
    run: async (context, { name, between, 'one-way': isOneWay = false, for: duration, ...numbers }) => {
      // On the command line, the first number is an argument and the others are options.
      const typed = LINK_FAULTS[name].fields.map(({ key, unit }, index) => {
        if (numbers[key] === undefined) return ''
        return ` ${index === 0 ? '' : `--${key} `}${numbers[key]}${unit === 'bytes/s' ? 'B/s' : ''}`
      })
      const ends = `${isOneWay ? ' --one-way' : ''}${duration ? ` --for ${duration}` : ''}`
      context.line(`understudy fault ${name} ${between.join(' ')}${typed.join('')}${ends}`)
      const [one = '', other = ''] = between
      const fault = makeLinkFault(name, ({ key }) => {
        const given = numbers[key]
        return typeof given === 'string' ? durationOf(given) : given
      })
      const forMs = duration === undefined ? undefined : durationOf(duration)
      await context.lab.setFault({ between: [one, other], isOneWay, fault, ...(forMs === undefined ? {} : { forMs }) })
    },
  }),
  heal: step({
    schema: {
      type: ['string', 'object'],
      pattern: '^all$',
      title: '"all", or { between: [A, B] }',
      description: 'Ends the faults of one link, or all.',
      additionalProperties: false,
      required: ['between'],
      properties: { between: BETWEEN },
    },
    text: (value) => (typeof value === 'string' ? 'heal all links' : `heal ${value.between.join(' <-> ')}`),
    problems: (value) => (typeof value === 'string' ? [] : twoClusters(value.between)),
    run: async ({ lab, line }, value) => {
      line(typeof value === 'string' ? 'understudy heal --all' : `understudy heal ${value.between.join(' ')}`)
      if (typeof value === 'string') return lab.heal()
      const [one = '', other = ''] = value.between
      const found = findBetween(await lab.faults(), [one], [other])
      return found.length > 0 ? lab.heal(found.map(({ id }) => id)) : undefined
    },
  }),
}

/** Calls the lab endpoints of a server. */
const onLabApi = (context: DrillContext, cluster: string, path: string, body: object): Promise<unknown> =>
  context.ok({ cluster, method: 'POST', path: `/_understudy/v1/${path}`, body, token: 'none' })

/** Faults of servers. */
export const SERVER_FAULT_STEPS = {
  hold: step({
    schema: mapOf(
      'Keeps the replication of a secondary in a state as soon as it comes to it.',
      ['cluster', 'state', 'kind'],
      {
        cluster: CLUSTER,
        state: { type: 'string', enum: ['bootstrapping', 'merkle-diff', 'merkle-sync', 'reindex', 'apply'] },
        kind: KIND,
      },
    ),
    text: ({ cluster, state, kind }) => `hold ${cluster} in ${state} (${kind})`,
    run: (context, { cluster, ...body }) => onLabApi(context, cluster, 'states/hold', body),
  }),
  release: step({
    schema: mapOf('Lets a held state go on; all of a cluster when none is named.', ['cluster'], {
      cluster: CLUSTER,
      state: { type: 'string' },
      kind: KIND,
    }),
    text: ({ cluster }) => `release ${cluster}`,
    run: (context, { cluster, ...body }) => onLabApi(context, cluster, 'states/release', body),
  }),
  corrupt: step({
    schema: mapOf('Damages a page of a merkle tree, not the data below it.', ['cluster'], {
      cluster: CLUSTER,
      tree: { type: 'string', enum: ['replicated', 'local'], default: 'replicated' },
      page: { type: 'integer', minimum: 0, maximum: 255, default: 0 },
    }),
    text: ({ cluster }) => `damage the merkle tree of ${cluster}`,
    run: (context, { cluster, tree = 'replicated', page = 0 }) =>
      onLabApi(context, cluster, 'faults/corrupt', { tree, page }),
  }),
  skew: step({
    schema: mapOf("Shifts the clock of a cluster's server.", ['cluster', 'by'], {
      cluster: CLUSTER,
      by: { type: 'string', description: 'Such as 5m or -30s.' },
    }),
    text: ({ cluster, by }) => `shift the clock of ${cluster} by ${by}`,
    run: (context, { cluster, by }) => onLabApi(context, cluster, 'clock', { skew: by }),
  }),
  disk: step({
    schema: mapOf('The disk of a cluster is full, fails or is slow, until it is ok again.', ['cluster', 'state'], {
      cluster: CLUSTER,
      state: { type: 'string', enum: ['full', 'fail', 'slow', 'ok'] },
      delay: { ...DURATION, description: 'Of slow: how much longer a write takes.' },
    }),
    text: ({ cluster, state }) => `the disk of ${cluster} is ${state}`,
    problems: (value) => (value.state === 'slow' ? lacks(value, ['delay'], 'a slow disk') : []),
    run: (context, { cluster, ...body }) => onLabApi(context, cluster, 'faults/disk', body),
  }),
  'expire-token': step({
    schema: mapOf(
      'Lets the activation token that a primary issued for an id expire at once.',
      ['cluster', 'id', 'kind'],
      { cluster: CLUSTER, id: { type: 'string' }, kind: KIND },
    ),
    text: ({ cluster, id }) => `let the activation token ${id} of ${cluster} expire`,
    run: (context, { cluster, ...body }) => onLabApi(context, cluster, 'faults/expire-token', body),
  }),
}
