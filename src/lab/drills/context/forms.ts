import { parseDurationMs } from '../../../base/duration.js'
import { KINDS } from '../../model/kinds.js'
import type { Schema, ValueOf } from '../../documents/schema.js'

/** Returns the schema of a map with these keys and no others. */
export const mapOf = <const P extends Readonly<Record<string, Schema>>, const R extends keyof P & string = never>(
  description: string,
  required: readonly R[],
  properties: P,
) =>
  ({
    type: 'object',
    description,
    additionalProperties: false,
    required: required.length > 0 ? required : undefined,
    properties,
  }) as {
    readonly type: 'object'
    readonly description: string
    readonly additionalProperties: false
    readonly required: readonly R[]
    readonly properties: P
  }

/** What a drill file can contain under one name: its form and its text. */
export interface Row<S, V> {
  readonly schema: S
  /** Describes a value in English. */
  text(value: V): string
  /** Returns problems that the schema cannot express. */
  problems?(value: V): readonly string[]
}

/** Returns the spelling of a variable in a drill file. */
export const variable = (name: string): string => ['$', '{', name, '}'].join('')

export const CLUSTER = { type: 'string', pattern: '^[A-Z]$', title: 'the letter of a cluster, A to Z' } as const

export const CLUSTERS = {
  type: ['string', 'array'],
  pattern: '^[A-Z]$',
  title: 'the letter of a cluster, or a list of such',
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
  title: `the letter of a cluster, ${NODE_FORMS}, or a list of such`,
  minItems: 1,
  items: SERVER,
} as const

export const DURATION = {
  type: 'string',
  pattern: '^(\\d+(\\.\\d+)?(ms|s|m|h))+$',
  title: 'a duration such as 80ms or 30s',
} as const

export const KIND = { type: 'string', enum: KINDS } as const

export const NAMES = { type: 'array', items: { type: 'string' } } as const

/** An exact number, or bounds. */
export const COUNT = {
  type: ['integer', 'object'],
  title: 'a number, or { at-least, at-most }',
  minimum: 0,
  additionalProperties: false,
  properties: { 'at-least': { type: 'integer', minimum: 0 }, 'at-most': { type: 'integer', minimum: 0 } },
} as const

/** A value to compare with, of any type; see `matcher.ts`. In a map, every key must match. */
export const WANTED = {
  description: `What it must be: a value as it is; a map, each key of which must match (others may be there); or one of { at-least: 1 }, { at-most: 5 }, { contains: text or item }, { not: value }, { one-of: [values] }, { present: true or false }, which can be combined. "${variable('name')}" stands for what a step saved.`,
} as const

export const ANSWER = mapOf('What the answer must be. Without it the status must be below 400.', [], {
  status: {
    type: ['integer', 'array'],
    title: 'a status such as 200, or a list of such',
    minimum: 100,
    maximum: 599,
    minItems: 1,
    items: { type: 'integer', minimum: 100, maximum: 599 },
  },
  body: WANTED,
  data: { ...WANTED, description: 'What "data" in the body must be; forms as for body.' },
  error: {
    type: 'string',
    description: 'A text that one of the errors contains. The status must then be 400 or more.',
  },
  warning: { type: 'string', description: 'A text that one of the warnings contains.' },
})

export const CALL = mapOf(
  'A request to the API of one cluster, with a root token that works there unless another one is named.',
  ['cluster', 'path'],
  {
    cluster: { ...SERVER, description: 'Whom it is sent to: a cluster, or one of its nodes.' },
    method: { type: 'string', enum: ['GET', 'LIST', 'POST', 'PUT', 'PATCH', 'DELETE'], default: 'GET' },
    path: {
      type: 'string',
      description: 'Below /v1/ without a slash in front; with one it is the whole path, such as /_understudy/v1/info.',
    },
    query: { type: 'object', description: 'Parameters behind the path.', additionalProperties: { type: 'string' } },
    body: { type: 'object', description: 'Sent as JSON.' },
    token: {
      type: 'string',
      default: 'root',
      description: `"root", "none", or a token itself, such as "${variable('app')}" that a step saved.`,
    },
    namespace: { type: 'string' },
    headers: { type: 'object', additionalProperties: { type: 'string' } },
    expect: ANSWER,
    save: {
      type: 'object',
      description: `Values of the body to be remembered under a name, by their place such as wrap_info.token or data.keys.0. Later "${variable('name')}" stands for it.`,
      propertyNames: { pattern: '^[a-z][a-z0-9_]*$', title: 'small letters, digits and underscores' },
      additionalProperties: { type: 'string' },
    },
    within: {
      ...DURATION,
      description: 'Asked again until the answer is as expected, so long at most. Without it the first answer counts.',
    },
  },
)
export type CallValue = ValueOf<typeof CALL>

/** Returns the milliseconds of a duration that passed schema validation. */
export const durationOf = (text: string): number => parseDurationMs(text) ?? 0

export const listOf = (clusters: ValueOf<typeof CLUSTERS>): readonly string[] =>
  typeof clusters === 'string' ? [clusters] : clusters

type Given = Readonly<Record<string, unknown>>

/** Returns a sentence for each missing key. */
export const lacks = (value: Given, keys: readonly string[], why: string): string[] =>
  keys.filter((key) => value[key] === undefined).map((key) => `${why} needs "${key}"`)
