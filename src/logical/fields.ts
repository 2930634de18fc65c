import type { JsonValue } from './json.js'

/**
 * Field tables: one row per parameter drives parsing, validation, documentation and OpenAPI. Clients rely on loose coercion
 * ("10" for 10, "5m" for 300, "a,b" for a list); the rules are those of Vault's weak decoding.
 */
export type FieldKind = 'string' | 'bool' | 'int' | 'duration' | 'comma-list' | 'string-list' | 'map' | 'pairs' | 'any'

export interface Field<T> {
  readonly kind: FieldKind
  /** Passed to the handler if the field was not sent. */
  readonly defaultValue: T
  readonly description: string
  readonly isRequired?: boolean
  /** Marked as deprecated in OpenAPI. */
  readonly isDeprecated?: boolean
  /** Never shown in documentation samples. */
  readonly isSecret?: boolean
}

export type FieldTable = { readonly [name: string]: Field<unknown> }

/** The parsed values of a table, including defaults. */
export type Values<T extends FieldTable> = { readonly [K in keyof T]: T[K] extends Field<infer V> ? V : never }

type More = Partial<Pick<Field<unknown>, 'isRequired' | 'isDeprecated' | 'isSecret'>>

/** Defines a field of one kind with a default value of its own. */
type DefineScalar<T> = (description: string, defaultValue?: T, more?: More) => Field<T>
/** Defines a field of one kind. Its default value is that of the kind. */
type DefineComposite<T> = (description: string, more?: More) => Field<T>

const scalar =
  <T>(kind: FieldKind, zero: T): DefineScalar<T> =>
  (description, defaultValue = zero, more = {}) => ({ kind, defaultValue, description, ...more })

const composite =
  <T>(kind: FieldKind, defaultValue: T): DefineComposite<T> =>
  (description, more = {}) => ({ kind, defaultValue, description, ...more })

/** Defines a string. Numbers keep their text, booleans become "1" and "0", null becomes "". */
export const string = scalar<string>('string', '')
export const bool = scalar<boolean>('bool', false)
export const int = scalar<number>('int', 0)
/** Defines non-negative seconds, possibly fractional, from `90`, `"90"`, `"1h30m"`, `"2d"` or `"500ms"`. */
export const duration = scalar<number>('duration', 0)
/** Defines a list, or one string split at commas. Elements are trimmed. */
export const commaList = composite<readonly string[]>('comma-list', [])
/** Defines a list; a single string is one element, including its commas. */
export const stringList = composite<readonly string[]>('string-list', [])
/** Defines an object with values of any type. */
export const map = composite<{ readonly [key: string]: JsonValue } | null>('map', null)
/** Defines an object with string values, or a list of `k=v`. */
export const pairs = composite<{ readonly [key: string]: string } | null>('pairs', null)
/** Defines a field that takes any JSON value, unchanged. */
export const any = composite<JsonValue | undefined>('any', undefined)
