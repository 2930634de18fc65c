import type { JsonObject, JsonValue } from '../../logical/json.js'

export interface OwnOperation {
  readonly summary: string
  /** Of a server: available only with `lab_api`. */
  readonly isLabOnly?: true
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

/** A value on the wire: its schema and an example. An optional property without an example is not in that of its object. */
export interface Described {
  readonly schema: JsonObject
  readonly example?: JsonValue | undefined
}

export type Fields = Readonly<Record<string, Described>>

export const text = (example?: string): Described => ({ schema: { type: 'string' }, example })
export const whole = (example?: number): Described => ({ schema: { type: 'integer' }, example })
export const flag = (example?: boolean): Described => ({ schema: { type: 'boolean' }, example })
export const oneOf = (values: readonly string[], example?: string): Described => ({
  schema: { type: 'string', enum: [...values] },
  example,
})
/** The example has one item, or none if the items have no example. */
export const listOf = ({ schema, example }: Described): Described => ({
  schema: { type: 'array', items: schema },
  example: example === undefined ? [] : [example],
})
export const orNull = ({ schema }: Described, example: JsonValue = null): Described => ({
  schema: { anyOf: [schema, { type: 'null' }] },
  example,
})

/** Describes an object without other properties. Those of `required` are always present. */
export const object = (required: Fields, optional: Fields = {}): Described =>
  openObject({ ...required, ...optional }, Object.keys(required), { additionalProperties: false })

/** Describes an object that may have other properties. */
export const openObject = (fields: Fields, required: readonly string[], more: JsonObject = {}): Described => {
  const examples = Object.entries(fields).flatMap(([name, { example }]) =>
    example === undefined ? [] : [[name, example] as const],
  )
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])),
      required: [...required],
      ...more,
    },
    example: examples.length > 0 || required.length === 0 ? Object.fromEntries(examples) : undefined,
  }
}
