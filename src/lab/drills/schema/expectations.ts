import type { Schema } from '../../documents/schema.js'
import { CALL, CLUSTER, CLUSTERS, COUNT, DURATION, KIND, NAMES, WANTED } from './forms.js'

const WITHIN: Schema = {
  ...DURATION,
  default: '30s',
  description: 'Looked at again until it holds, so long at most; 0s looks once.',
}

const facts = (description: string, required: readonly string[], properties: Schema['properties'] = {}): Schema => ({
  type: 'object',
  description,
  additionalProperties: false,
  required,
  properties: { ...properties, within: WITHIN },
})

const CLIENT: Schema = {
  type: 'string',
  enum: ['old-token', 'new-login', 'reader'],
  description: 'Of this kind of client alone.',
}

/** Expectations that the load measures. They are valid only at the end of a drill with a load. */
export const LOAD_EXPECTATIONS = {
  rto: {
    type: 'object',
    description:
      'How long writes were not accepted: from the first that was refused or not answered to the first that the new primary accepted.',
    additionalProperties: false,
    properties: { 'at-most': DURATION, 'at-least': DURATION, client: CLIENT },
  },
  rpo: {
    type: 'object',
    description: 'Writes that were acknowledged and are not there at the end, by reading all of them back.',
    additionalProperties: false,
    required: ['writes-lost'],
    properties: { 'writes-lost': COUNT, client: CLIENT },
  },
  tokens: {
    type: 'object',
    description: 'Tokens of before that still work at the end, at the cluster that serves their clients then.',
    additionalProperties: false,
    required: ['survived'],
    properties: {
      survived: {
        type: ['string', 'integer'],
        pattern: '^(all|none)$',
        minimum: 0,
        title: '"all", "none" or a number',
      },
    },
  },
  writes: {
    type: 'object',
    description: 'Acknowledged writes of the load, read on a cluster: what one cluster accepted is there on another.',
    additionalProperties: false,
    required: ['on', 'lost'],
    properties: {
      'accepted-by': { ...CLUSTER, description: 'Only those that this cluster accepted.' },
      on: CLUSTER,
      lost: COUNT,
      'at-least': {
        type: 'integer',
        minimum: 0,
        default: 1,
        description: 'So many must have been accepted to say anything.',
      },
    },
  },
  refusals: {
    type: 'object',
    description: 'Requests of clients that were refused or not answered: the symptom that people see.',
    additionalProperties: false,
    required: ['count'],
    properties: {
      count: COUNT,
      containing: { type: 'string', description: 'Only those whose status or error contains this text.' },
      cluster: { ...CLUSTER, description: 'Only those of this cluster.' },
    },
  },
} as const satisfies Readonly<Record<string, Schema>>

/** Expectations about the clusters. They can be checked at any time. */
const FACT_EXPECTATIONS = {
  roots: facts('Clusters have the same merkle root, in full.', ['equal'], {
    equal: { type: 'array', minItems: 2, items: CLUSTER },
    kind: { ...KIND, description: 'Whose root: performance where all of them have one, else dr.' },
    differ: { type: 'boolean', default: false, description: 'They must not be the same.' },
  }),
  values: facts(
    'What a path reads on clusters, with a root token of each: the same on all, and as "is" says.',
    ['path', 'on'],
    {
      path: { type: 'string', description: 'As the API has it.' },
      on: CLUSTERS,
      is: { ...WANTED, description: 'What "data" must be; forms as elsewhere.' },
      differ: { type: 'boolean', default: false, description: 'Two of the clusters read it differently.' },
    },
  ),
  absent: facts('A path is answered with 404 on clusters.', ['path', 'on'], { path: { type: 'string' }, on: CLUSTERS }),
  'known-secondaries': facts('The ids that a primary knows, all of them.', ['cluster', 'kind', 'are'], {
    cluster: CLUSTER,
    kind: KIND,
    are: NAMES,
  }),
  primaries: facts('The clusters that say that they are primary of a kind, all of them.', ['kind', 'are'], {
    kind: KIND,
    are: { type: 'array', items: CLUSTER },
  }),
  status: facts('Fields of sys/replication/KIND/status.', ['cluster', 'kind', 'is'], {
    cluster: CLUSTER,
    kind: KIND,
    is: WANTED,
  }),
  health: facts('The status with which sys/health answers.', ['cluster', 'is'], {
    cluster: CLUSTERS,
    is: { type: 'integer', minimum: 200, maximum: 599 },
  }),
  lag: facts('Entries that a secondary lacks of its primary.', ['primary', 'secondary', 'kind', 'entries'], {
    primary: CLUSTER,
    secondary: CLUSTER,
    kind: KIND,
    entries: COUNT,
  }),
  metrics: facts('A metric of sys/metrics in the format of Prometheus.', ['cluster', 'name'], {
    cluster: CLUSTER,
    name: { type: 'string', description: 'Such as vault_core_replication_dr_primary.' },
    labels: { type: 'object', additionalProperties: { type: 'string' }, description: 'Which the series must have.' },
    is: { ...WANTED, description: 'A number, or { at-least, at-most }.' },
    absent: { type: 'boolean', default: false, description: 'There is no such series.' },
  }),
  losses: facts('Entries that a cluster notes as lost in a change of primary.', ['cluster', 'entries'], {
    cluster: CLUSTER,
    entries: COUNT,
    path: { type: 'string', description: 'One of them has this path.' },
  }),
  call: { ...CALL, description: 'A request and what it must be answered with; forms as for the step.' },
} as const satisfies Readonly<Record<string, Schema>>

export const EXPECTATIONS = { ...LOAD_EXPECTATIONS, ...FACT_EXPECTATIONS }

export type ExpectationName = keyof typeof EXPECTATIONS
export type FactName = keyof typeof FACT_EXPECTATIONS
