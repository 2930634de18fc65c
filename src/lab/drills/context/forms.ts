import { parseDurationMs } from '../../../base/duration.js'
import { KINDS } from '../../model/kinds.js'
import { mapWith, type Schema, type ValueOf } from '../../documents/schema.js'
import type { DrillContext } from './drill-context.js'
import type { ExpectationResult } from './result.js'

/** Returns the schema of a map with these keys and no others, with a description for editors and reference pages. */
export const mapOf = <const P extends Readonly<Record<string, Schema>>, const R extends keyof P & string = never>(
  description: string,
  required: readonly R[],
  properties: P,
) => ({ description, ...mapWith(properties, required) })
export type CheckResult = Omit<ExpectationResult, 'text'>

/** The definition of one step or expectation: its schema for drill files, its texts, its checks, and what it does. */
export interface Row<Subject, Result, S = Schema, V = unknown> {
  readonly schema: S
  /** Feature of the lab that the step or expectation requires, in addition to servers. */
  readonly needs?: 'links'
  text(value: V): string
  /** Returns problems that the schema cannot express. */
  problems?(value: V): readonly string[]
  run(subject: Subject, value: V): Result | Promise<Result>
}

/** Returns a function that infers the type of a row's value from its schema. */
export const rowOn =
  <Subject, Result>() =>
  <const S extends Schema>(row: Row<Subject, Result, S, ValueOf<S>>): Row<Subject, Result, S, ValueOf<S>> =>
    row

/** A step. Rejects if it cannot run, or if its result is not the expected one. */
export const step = rowOn<DrillContext, unknown>()

/** An expectation about the clusters, which can be checked at any time. */
export const fact = rowOn<DrillContext, CheckResult>()
export const exactlyOne = (keys: object) => Object.keys(keys).map((key) => ({ required: [key] }))

export const schemasOf = <T extends Readonly<Record<string, { readonly schema: Schema }>>>(rows: T) =>
  Object.fromEntries(Object.entries(rows).map(([name, { schema }]) => [name, schema])) as {
    readonly [N in keyof T]: T[N]['schema']
  }

/** Replaces variables of clusters with a description, such as `<cluster address of B>`. */
export const nameVariables = (text: string): string =>
  text.replaceAll(
    /\$\{([A-Z])\.(\w+)\}/g,
    (_, cluster: string, what: string) => `<${what.replaceAll('_', ' ')} of ${cluster}>`,
  )

/** Returns the spelling of a variable in a drill file. */
export const variable = (name: string): string => ['$', '{', name, '}'].join('')

export const CLUSTER = { type: 'string', pattern: '^[A-Z]$', title: 'the letter of a cluster, A to Z' } as const

export const CLUSTERS = {
  type: ['string', 'array'],
  pattern: '^[A-Z]$',
  title: 'the letter of a cluster, or a list of letters',
  minItems: 1,
  items: CLUSTER,
} as const

/** A cluster, a node, or a variable that names a node by its role at the start of the drill. */
const SERVER_PATTERN = '^([A-Z][1-9]?|\\$\\{[A-Z]\\.(active_node|standby_[1-9])\\})$'
const NODE_FORMS = `a node such as A1, "${variable('A.active_node')}" or "${variable('A.standby_1')}"`

export const SERVER = {
  type: 'string',
  pattern: SERVER_PATTERN,
  title: `the letter of a cluster, or ${NODE_FORMS}`,
} as const

export const SERVERS = {
  type: ['string', 'array'],
  pattern: SERVER_PATTERN,
  title: `the letter of a cluster, ${NODE_FORMS}, or a list of clusters and nodes`,
  minItems: 1,
  items: SERVER,
} as const

export const DURATION = {
  type: 'string',
  pattern: '^(\\d+(\\.\\d+)?(ms|s|m|h))+$',
  title: 'a duration such as 80ms or 30s',
} as const

export const KIND = { type: 'string', enum: KINDS } as const
export const ON_KIND = { cluster: CLUSTER, kind: KIND } as const
export const PAIR = { primary: CLUSTER, secondary: CLUSTER } as const

export const NAMES = { type: 'array', items: { type: 'string' } } as const

/** A number: exact, or with a minimum and a maximum. */
export const COUNT = {
  type: ['integer', 'object'],
  title: 'a number, or { at-least, at-most }',
  minimum: 0,
  additionalProperties: false,
  properties: { 'at-least': { type: 'integer', minimum: 0 }, 'at-most': { type: 'integer', minimum: 0 } },
} as const

/** A value to compare with, of any type; see `matcher.ts`. In a map, every key must match. */
export const WANTED = {
  description: `Expected value. A plain value must be equal; in a map, each key must match. Operators: { at-least: 1 }, { at-most: 5 }, { contains: text or item }, { not: value }, { one-of: [values] }, { present: true or false }. "${variable('name')}" is a value that a step saved.`,
} as const

export const ANSWER = mapOf('Expected response. Without it, the status must be below 400.', [], {
  status: {
    type: ['integer', 'array'],
    title: 'a status such as 200, or a list',
    minimum: 100,
    maximum: 599,
    minItems: 1,
    items: { type: 'integer', minimum: 100, maximum: 599 },
  },
  body: WANTED,
  data: { ...WANTED, description: 'Expected value of "data" in the body; see body.' },
  error: {
    type: 'string',
    description: 'Text that one of the errors contains. The status must be 400 or more.',
  },
  warning: { type: 'string', description: 'Text that one of the warnings contains.' },
})

export const CALL = mapOf('Sends a request to one cluster, with a root token or another token.', ['cluster', 'path'], {
  cluster: { ...SERVER, description: 'Cluster or node that receives the request.' },
  method: { type: 'string', enum: ['GET', 'LIST', 'POST', 'PUT', 'PATCH', 'DELETE'], default: 'GET' },
  path: {
    type: 'string',
    description: 'Path below /v1/. With a leading slash, the whole path, such as /_understudy/v1/info.',
  },
  query: { type: 'object', description: 'Query parameters.', additionalProperties: { type: 'string' } },
  body: { type: 'object', description: 'JSON body.' },
  token: {
    type: 'string',
    default: 'root',
    description: `"root", "none", or a token that a step saved, such as "${variable('app')}".`,
  },
  namespace: { type: 'string' },
  headers: { type: 'object', additionalProperties: { type: 'string' } },
  expect: ANSWER,
  save: {
    type: 'object',
    description: `Values of the body to save, by their path, such as wrap_info.token or data.keys.0. "${variable('name')}" is the saved value.`,
    propertyNames: { pattern: '^[a-z][a-z0-9_]*$', title: 'lowercase letters, digits and underscores' },
    additionalProperties: { type: 'string' },
  },
  within: {
    ...DURATION,
    description:
      'Maximum time to repeat the request until the response is as expected. Without it, the first response counts.',
  },
})
export type CallValue = ValueOf<typeof CALL>

/** Returns the milliseconds of a duration that passed schema validation. */
export const durationOf = (text: string): number => parseDurationMs(text) ?? 0

export const listOf = (clusters: ValueOf<typeof CLUSTERS>): readonly string[] =>
  typeof clusters === 'string' ? [clusters] : clusters

type Given = Readonly<Record<string, unknown>>

/** Returns a message for each missing key. `why`: the subject of the message. */
export const findMissingKeys = (value: Given, keys: readonly string[], why: string): string[] =>
  keys.filter((key) => value[key] === undefined).map((key) => `${why} needs "${key}"`)
