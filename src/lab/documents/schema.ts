/**
 * The subset of JSON Schema that describes and validates lab files, and with `function` the arguments of the library.
 */
export interface Schema {
  readonly type?: SchemaType | readonly SchemaType[]
  readonly const?: string
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly propertyNames?: { readonly pattern: string; readonly title?: string }
  /** False: only the properties named above are allowed. */
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  /** For editors only: `check.ts` ignores this keyword, and the drill parser reports these problems itself. */
  readonly oneOf?: readonly { readonly required: readonly string[] }[]
  /** Describes a value as a noun phrase for error messages: "a duration such as 80ms". */
  readonly title?: string
  readonly description?: string
  readonly default?: string | number | boolean
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type SchemaType = 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'null' | 'function'

/** Returns the schema of a map with these keys and no others. */
export const mapWith = <const P extends Readonly<Record<string, Schema>>, const R extends string = never>(
  properties: P,
  required: readonly R[] = [],
) => ({ type: 'object', required, additionalProperties: false, properties }) as const

/** The type of the values that match a schema. */
export type ValueOf<S> = S extends { readonly type: infer T }
  ? TypedValue<S, T extends readonly (infer U)[] ? U : T>
  : unknown

type TypedValue<S, T> = T extends 'string'
  ? S extends { readonly enum: readonly (infer E)[] }
    ? E
    : string
  : T extends 'integer' | 'number'
    ? number
    : T extends 'boolean'
      ? boolean
      : T extends 'array'
        ? S extends { readonly items: infer I }
          ? readonly ValueOf<I>[]
          : readonly unknown[]
        : T extends 'object'
          ? MapValue<S>
          : null

type MapValue<S> = S extends { readonly properties: infer P }
  ? PropertyValues<P, S extends { readonly required: readonly (infer R)[] } ? R : never>
  : S extends { readonly additionalProperties: infer A extends Schema }
    ? Readonly<Record<string, ValueOf<A>>>
    : Readonly<Record<string, unknown>>

type PropertyValues<P, R> = { readonly [K in keyof P as K extends R ? K : never]: ValueOf<P[K]> } & {
  readonly [K in keyof P as K extends R ? never : K]?: ValueOf<P[K]>
}
