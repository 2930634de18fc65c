import type { JsonValue } from './json.js'

/**
 * The kind of a field. A field table has one row per parameter, which determines parsing, validation, documentation and
 * OpenAPI. Clients depend on Vault's weak decoding: "10" for 10, "5m" for 300, "a,b" for a list.
 */
export type FieldKind =
  | 'string'
  | 'bool'
  | 'int'
  | 'float'
  | 'duration'
  | 'signed-duration'
  | 'comma-list'
  | 'string-list'
  | 'map'
  | 'pairs'
  | 'any'

export interface Field<T> {
  readonly kind: FieldKind
  /** The value that the handler receives if the request does not contain the field. */
  readonly defaultValue: T
  readonly description: string
  readonly isRequired?: boolean
  /** True if OpenAPI marks the field as deprecated. */
  readonly isDeprecated?: boolean
  /** True if OpenAPI marks the field as sensitive. */
  readonly isSecret?: boolean
}

export type FieldTable = { readonly [name: string]: Field<unknown> }

/** The parsed values of a table, including defaults. */
export type Values<T extends FieldTable> = { readonly [K in keyof T]: T[K] extends Field<infer V> ? V : never }

/** Returns the values of a request without fields. */
export const defaultsOf = <T extends FieldTable>(table: T): Values<T> =>
  Object.fromEntries(Object.entries(table).map(([name, field]) => [name, field.defaultValue])) as Values<T>

type More = Partial<Pick<Field<unknown>, 'isRequired' | 'isDeprecated' | 'isSecret'>>

/** Defines a field of one kind, with an optional default value. */
type DefineScalar<T> = (description: string, defaultValue?: T, more?: More) => Field<T>
/** Defines a field of one kind, with the default value of the kind. */
type DefineComposite<T> = (description: string, more?: More) => Field<T>

const scalar =
  <T>(kind: FieldKind, zero: T): DefineScalar<T> =>
  (description, defaultValue = zero, more = {}) => ({ kind, defaultValue, description, ...more })

const composite =
  <T>(kind: FieldKind, defaultValue: T): DefineComposite<T> =>
  (description, more = {}) => ({ kind, defaultValue, description, ...more })

/** Defines a string. Numbers keep their spelling, Booleans become "1" and "0", and null becomes "". */
export const string = scalar<string>('string', '')
export const bool = scalar<boolean>('bool', false)
export const int = scalar<number>('int', 0)
/** Defines a number, which may be fractional: `0.5`, `"0.5"`. */
export const float = scalar<number>('float', 0)
/**
 * Defines a duration in seconds, which is not negative and may be fractional: `90`, `"90"`, `"1h30m"`, `"2d"`,
 * `"500ms"`.
 */
export const duration = scalar<number>('duration', 0)
/** Defines a duration in seconds like `duration`, which may be negative. */
export const signedDuration = scalar<number>('signed-duration', 0)
/** Defines a list of strings. A single string is split at commas. Elements are trimmed. */
export const commaList = composite<readonly string[]>('comma-list', [])
/** Defines a list of strings. A single string is one element, including its commas. */
export const stringList = composite<readonly string[]>('string-list', [])
/** Defines an object with values of any type. */
export const map = composite<{ readonly [key: string]: JsonValue } | null>('map', null)
/** Defines an object with string values. Clients may also send a list of `key=value`. */
export const pairs = composite<{ readonly [key: string]: string } | null>('pairs', null)
/** Defines a field that accepts any JSON value without conversion. */
export const any = composite<JsonValue | undefined>('any', undefined)
