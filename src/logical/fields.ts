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

/** Defines a string. Numbers keep their text, booleans become "1" and "0", null becomes "". */
export const string = (description: string, defaultValue = '', more: More = {}): Field<string> => ({
  kind: 'string',
  defaultValue,
  description,
  ...more,
})

export const bool = (description: string, defaultValue = false, more: More = {}): Field<boolean> => ({
  kind: 'bool',
  defaultValue,
  description,
  ...more,
})

export const int = (description: string, defaultValue = 0, more: More = {}): Field<number> => ({
  kind: 'int',
  defaultValue,
  description,
  ...more,
})

/** Defines non-negative seconds, possibly fractional, from `90`, `"90"`, `"1h30m"`, `"2d"` or `"500ms"`. */
export const duration = (description: string, defaultValue = 0, more: More = {}): Field<number> => ({
  kind: 'duration',
  defaultValue,
  description,
  ...more,
})

/** Defines a list, or one string split at commas. Elements are trimmed. */
export const commaList = (description: string, more: More = {}): Field<readonly string[]> => ({
  kind: 'comma-list',
  defaultValue: [],
  description,
  ...more,
})

/** Defines a list; a single string is one element, including its commas. */
export const stringList = (description: string, more: More = {}): Field<readonly string[]> => ({
  kind: 'string-list',
  defaultValue: [],
  description,
  ...more,
})

/** Defines an object with values of any type. */
export const map = (description: string, more: More = {}): Field<{ readonly [key: string]: JsonValue } | null> => ({
  kind: 'map',
  defaultValue: null,
  description,
  ...more,
})

/** Defines an object with string values, or a list of `k=v`. */
export const pairs = (description: string, more: More = {}): Field<{ readonly [key: string]: string } | null> => ({
  kind: 'pairs',
  defaultValue: null,
  description,
  ...more,
})

/** Defines a field that takes any JSON value, unchanged. */
export const any = (description: string, more: More = {}): Field<JsonValue | undefined> => ({
  kind: 'any',
  defaultValue: undefined,
  description,
  ...more,
})
