import { SERVER_VERBS, type ServerVerb } from '../../model/server-verbs.js'
import { LINK_FAULTS, type LinkFaultName, makeLinkFault } from '../../proxy/link-faults.js'
import type { DrillContext } from '../context/drill-context.js'
import {
  CLUSTER,
  DURATION,
  durationOf,
  KIND,
  findMissingKeys,
  listOf,
  mapOf,
  SERVER,
  SERVERS,
  step,
} from '../context/forms.js'

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

/** Returns the schema of a numeric key. The description has the meaning of the key for each fault. */
const numberOf = (key: FieldKey) => {
  const fields = FAULT_FIELDS.filter((field) => field.key === key)
  const description = `For ${fields.map(({ fault, about }) => `${fault}: ${about}`).join('. For ')}.`
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
      'Adds a fault to the link between two clusters. The fault lasts until it is healed or expires.',
      ['name', 'between'],
      {
        name: {
          type: 'string',
          description:
            'partition: blocks all traffic. hold: holds all traffic until the fault is healed. down: refuses connections. The other faults are those of Toxiproxy.',
          enum: Object.keys(LINK_FAULTS) as LinkFaultName[],
        },
        between: BETWEEN,
        'one-way': { type: 'boolean', default: false, description: 'Affects only traffic from the first cluster.' },
        for: { ...DURATION, description: 'Removes the fault after this time.' },
        ...FAULT_NUMBERS,
      },
    ),
    needs: 'links',
    text: ({ name, between, 'one-way': isOneWay, for: duration }) =>
      `${name} ${between.join(isOneWay ? ' -> ' : ' <-> ')}${duration ? ` for ${duration}` : ''}`,
    problems: ({ name, between, ...numbers }) => {
      const required = LINK_FAULTS[name].fields.filter(({ isOptional }) => !isOptional)
      const keys = required.map(({ key }) => key)
      return [...twoClusters(between), ...findMissingKeys(numbers, keys, name)]
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
      description: 'Removes the faults of one link, or all faults.',
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
      const found = await lab.faultsBetween(one, other)
      return found.length > 0 ? lab.heal(found.map(({ id }) => id)) : undefined
    },
  }),
}

const onLabApi = (context: DrillContext, cluster: string, path: string, body: object): Promise<unknown> =>
  context.ok({ cluster, method: 'POST', path: `/_understudy/v1/${path}`, body, token: 'none' })

export const SERVER_FAULT_STEPS = {
  hold: step({
    schema: mapOf(
      'Holds the replication of a secondary when the secondary reaches a state.',
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
    schema: mapOf('Resumes a held state, or all held states of the cluster.', ['cluster'], {
      cluster: CLUSTER,
      state: { type: 'string' },
      kind: KIND,
    }),
    text: ({ cluster }) => `release ${cluster}`,
    run: (context, { cluster, ...body }) => onLabApi(context, cluster, 'states/release', body),
  }),
  corrupt: step({
    schema: mapOf('Damages a page of a Merkle tree, but not the data.', ['cluster'], {
      cluster: CLUSTER,
      tree: { type: 'string', enum: ['replicated', 'local'], default: 'replicated' },
      page: { type: 'integer', minimum: 0, maximum: 255, default: 0 },
    }),
    text: ({ cluster }) => `damage the merkle tree of ${cluster}`,
    run: (context, { cluster, tree = 'replicated', page = 0 }) =>
      onLabApi(context, cluster, 'faults/corrupt', { tree, page }),
  }),
  skew: step({
    schema: mapOf('Shifts the clock of the servers of a cluster.', ['cluster', 'by'], {
      cluster: CLUSTER,
      by: { type: 'string', description: 'For example 5m or -30s.' },
    }),
    text: ({ cluster, by }) => `shift the clock of ${cluster} by ${by}`,
    run: (context, { cluster, by }) => onLabApi(context, cluster, 'clock', { skew: by }),
  }),
  disk: step({
    schema: mapOf('Simulates a full, failing or slow disk of a cluster, until the state is ok.', ['cluster', 'state'], {
      cluster: CLUSTER,
      state: { type: 'string', enum: ['full', 'fail', 'slow', 'ok'] },
      delay: { ...DURATION, description: 'For slow: additional time of each write.' },
    }),
    text: ({ cluster, state }) => `the disk of ${cluster} is ${state}`,
    problems: (value) => (value.state === 'slow' ? findMissingKeys(value, ['delay'], 'a slow disk') : []),
    run: (context, { cluster, ...body }) => onLabApi(context, cluster, 'faults/disk', body),
  }),
  'expire-token': step({
    schema: mapOf('Expires the activation token that a primary issued for a secondary ID.', ['cluster', 'id', 'kind'], {
      cluster: CLUSTER,
      id: { type: 'string' },
      kind: KIND,
    }),
    text: ({ cluster, id }) => `expire the activation token ${id} of ${cluster}`,
    run: (context, { cluster, ...body }) => onLabApi(context, cluster, 'faults/expire-token', body),
  }),
}
