import type { JsonValue } from './json.js'

/**
 * Field tables: one row per parameter drives parsing, validation, documentation and OpenAPI. Clients coerce loosely
 * ("10" for 10, "5m" for 300, "a,b" for a list); the rules are those of the reference's weak decoding.
 */
export type FieldKind = 'string' | 'bool' | 'int' | 'duration' | 'comma-list' | 'string-list' | 'map' | 'pairs' | 'any'

export interface Field<T> {
  readonly kind: FieldKind
  /** The handler gets this when the field was not sent. */
  readonly defaultValue: T
  readonly description: string
  readonly isRequired?: boolean
  /** Shown by OpenAPI as deprecated. */
  readonly isDeprecated?: boolean
  /** Never shown in documentation samples. */
  readonly isSecret?: boolean
}

export type FieldTable = { readonly [name: string]: Field<unknown> }

/** The parsed values of a table, defaults filled in. */
export type Values<T extends FieldTable> = { readonly [K in keyof T]: T[K] extends Field<infer V> ? V : never }

type More = Partial<Pick<Field<unknown>, 'isRequired' | 'isDeprecated' | 'isSecret'>>

/** A string; numbers keep their text, booleans are "1" and "0", null is "". */
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

/** Seconds and parts of one, not negative, from `90`, `"90"`, `"1h30m"`, `"2d"`, `"500ms"`. */
export const duration = (description: string, defaultValue = 0, more: More = {}): Field<number> => ({
  kind: 'duration',
  defaultValue,
  description,
  ...more,
})

/** A list, or one string split at commas; elements trimmed. */
export const commaList = (description: string, more: More = {}): Field<readonly string[]> => ({
  kind: 'comma-list',
  defaultValue: [],
  description,
  ...more,
})

/** A list; a single string is one element, commas and all. */
export const stringList = (description: string, more: More = {}): Field<readonly string[]> => ({
  kind: 'string-list',
  defaultValue: [],
  description,
  ...more,
})

/** An object of any values. */
export const map = (description: string, more: More = {}): Field<{ readonly [key: string]: JsonValue } | null> => ({
  kind: 'map',
  defaultValue: null,
  description,
  ...more,
})

/** An object of strings, or a list of `k=v`. */
export const pairs = (description: string, more: More = {}): Field<{ readonly [key: string]: string } | null> => ({
  kind: 'pairs',
  defaultValue: null,
  description,
  ...more,
})

/** Whatever JSON was sent. */
export const any = (description: string, more: More = {}): Field<JsonValue | undefined> => ({
  kind: 'any',
  defaultValue: undefined,
  description,
  ...more,
})
