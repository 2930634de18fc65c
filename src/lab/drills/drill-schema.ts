import type { ValueOf } from '../documents/schema.js'
import { CLUSTER, DURATION, exactlyOne, mapOf, schemasOf } from './context/forms.js'
import { EXPECTATION_SCHEMAS } from './expectations/expectations.js'
import { STEPS } from './steps/steps.js'

/** The kinds of lab on which a drill can run. */
export const RUNNERS = ['process', 'in-process', 'docker'] as const
export type Runner = (typeof RUNNERS)[number]

const STEP = {
  type: 'object',
  title: 'a map with exactly one verb',
  additionalProperties: false,
  properties: {
    name: { type: 'string', description: 'Name of the step.' },
    error: {
      type: ['string', 'object'],
      title: 'a part of the error text, or { status, contains }',
      description: 'Expected error. The step fails if there is no such error.',
      additionalProperties: false,
      properties: { status: { type: 'integer', minimum: 400, maximum: 599 }, contains: { type: 'string' } },
    },
    ...schemasOf(STEPS),
  },
  oneOf: exactlyOne(STEPS),
} as const

const count = (maximum: number, given: number, description: string) =>
  ({ type: 'integer', minimum: 0, maximum, default: given, description }) as const

const LOAD = mapOf(
  'Clients that send requests from before the first step until after the last step. Each client has a list of all addresses, and uses the next one if a request fails.',
  [],
  {
    writers: count(64, 4, 'Clients that write with a token from before the failover.'),
    logins: count(16, 1, 'Clients that log in by AppRole for every write.'),
    readers: count(64, 2, 'Clients that read written values.'),
    tokens: count(64, 3, 'Tokens from before the failover that are checked during the drill and at the end.'),
    at: {
      type: 'array',
      minItems: 1,
      items: CLUSTER,
      description: 'Clusters that the clients use first, in order (default: all clusters that accept writes).',
    },
    every: { ...DURATION, default: '25ms', description: 'Pause of a client between two requests.' },
    patience: {
      ...DURATION,
      default: '2s',
      description: 'Time without a response after which a client abandons a request.',
    },
    'read-back-on': {
      ...CLUSTER,
      description: 'Cluster on which writes are read at the end (default: the primary at that time).',
    },
  },
)

export const DRILL_SCHEMA = {
  type: 'object',
  title: 'Drill',
  description: 'A rehearsal on a lab: steps under client load, and the expected outcome.',
  additionalProperties: false,
  required: ['apiVersion', 'kind', 'topology', 'steps'],
  properties: {
    apiVersion: { type: 'string', const: 'understudy/v1' },
    kind: { type: 'string', const: 'Drill' },
    name: {
      type: 'string',
      pattern: '^[a-z0-9][a-z0-9-]*$',
      title: 'lowercase letters, digits and hyphens',
      description: 'Default: the name of the file.',
    },
    purpose: { type: 'string', description: 'The purpose of the drill, in one sentence.' },
    symptom: { type: 'string', description: 'What operators and clients observe.' },
    fix: { type: 'string', description: 'How to fix the problem.' },
    duration: {
      ...DURATION,
      description: 'The usual duration, which lists of drills show. It has no effect on the drill.',
    },
    topology: {
      type: 'string',
      description: 'A name such as pr-dr, or a topology file relative to this file.',
    },
    runners: {
      type: 'array',
      minItems: 1,
      items: { type: 'string', enum: RUNNERS },
      description: 'Types of lab on which the drill can run (default: all).',
    },
    settings: {
      type: 'object',
      description: 'Settings of every server in the stanza "understudy", such as wal_retention_entries: 64.',
      additionalProperties: { type: ['string', 'integer', 'number', 'boolean'] },
    },
    shares: { type: 'integer', minimum: 1, maximum: 255, default: 1, description: 'Key shares of each cluster.' },
    threshold: { type: 'integer', minimum: 1, maximum: 255, default: 1 },
    load: LOAD,
    setup: {
      type: 'array',
      items: STEP,
      description: 'Steps before the clients start: data, policies, saved tokens.',
    },
    steps: {
      type: 'array',
      minItems: 1,
      items: STEP,
      description: `Steps in order; verbs: ${Object.keys(STEPS).join(', ')}.`,
    },
    expect: {
      type: 'array',
      items: {
        type: 'object',
        title: 'a map with exactly one expectation',
        additionalProperties: false,
        properties: EXPECTATION_SCHEMAS,
        oneOf: exactlyOne(EXPECTATION_SCHEMAS),
      },
      description: 'Expectations, which are checked after the last step, when the clients have stopped.',
    },
  },
} as const

/** The content of a drill file that passed schema validation. */
export type DrillFile = ValueOf<typeof DRILL_SCHEMA>
export const drillSchemaDocument = (): object => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  ...DRILL_SCHEMA,
})
