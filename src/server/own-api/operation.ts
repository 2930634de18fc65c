import type { JsonObject } from '../../logical/json.js'

/** One endpoint of our own, as its document describes it. */
export interface OwnOperation {
  readonly summary: string
  /** Of a server: there only with `lab_api`. */
  readonly isLabOnly?: true
  /** As whoever has this token of the cluster. */
  readonly asToken?: true
  readonly query?: readonly QueryParameter[]
  readonly body?: Described
  /** Absent: 204, without a body. A text is one for Prometheus; `events` are server-sent, and go on. */
  readonly answer?: Described | 'text' | 'events'
  /** Besides that answer 204, where there is nothing to say. */
  readonly isAlsoEmpty?: true
}

interface QueryParameter {
  readonly name: string
  readonly about: string
  readonly type: 'integer' | 'boolean'
}

/** A body as it goes over the wire: its schema, and an example of it. */
export interface Described {
  readonly schema: JsonObject
  readonly example: JsonObject
}

export const text: JsonObject = { type: 'string' }
export const whole: JsonObject = { type: 'integer' }
export const flag: JsonObject = { type: 'boolean' }
export const oneOf = (...values: readonly string[]): JsonObject => ({ type: 'string', enum: [...values] })
export const listOf = (items: JsonObject): JsonObject => ({ type: 'array', items })
export const orNull = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] })

/** The schema of an object; the properties of `required` are always there. */
export const object = (required: JsonObject, optional: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties: { ...required, ...optional },
  required: Object.keys(required),
  additionalProperties: false,
})
