import type { JsonObject } from '../../logical/json.js'

/** One Understudy endpoint, as described in its document. */
export interface OwnOperation {
  readonly summary: string
  /** Of a server: available only with `lab_api`. */
  readonly isLabOnly?: true
  /** Executed with this cluster token. */
  readonly asToken?: true
  readonly query?: readonly QueryParameter[]
  readonly body?: Described
  /** Absent: 204 without a body. `text` is in Prometheus format; `events` is a continuous stream of server-sent events. */
  readonly answer?: Described | 'text' | 'events'
  /** May also respond with 204 if there is nothing to return. */
  readonly isAlsoEmpty?: true
}

interface QueryParameter {
  readonly name: string
  readonly about: string
  readonly type: 'integer' | 'boolean'
}

/** A body on the wire: its schema and an example. */
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

/** Returns the schema of an object. The properties of `required` are always present. */
export const object = (required: JsonObject, optional: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties: { ...required, ...optional },
  required: Object.keys(required),
  additionalProperties: false,
})
