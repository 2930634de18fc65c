import { parseDurationMs } from '../../base/duration.js'
import type { HclValue } from '../../base/hcl-tree.js'

/** A configured value and its origin: `file:line`, the name of a flag, or the name of a variable. */
export interface Sourced {
  readonly value: ConfigValue
  readonly origin: string
}

export type ConfigValue = string | number | boolean | readonly string[] | undefined

/** The types of settings, with the TypeScript types of their values. Durations are in milliseconds. */
export interface KindValue {
  readonly string: string
  readonly int: number
  readonly duration: number
  readonly bool: boolean
  readonly list: readonly string[]
}
export type SettingKind = keyof KindValue
export type KeyKind = SettingKind | 'any'

/** Environment variables that the caller passes. Only the entry point of the process reads the real ones. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Returns the text of a setting, or an empty string if its value is not text. */
export const textOf = (setting: Sourced | undefined): string =>
  typeof setting?.value === 'string' ? setting.value : ''

/** Returns the setting, or undefined if its value is empty text. */
export const nonEmpty = (setting: Sourced | undefined): Sourced | undefined =>
  setting?.value === '' ? undefined : setting

const TRUE = new Set(['true', '1', 't', 'T', 'TRUE', 'True'])
const FALSE = new Set(['false', '0', 'f', 'F', 'FALSE', 'False', ''])

const scalarText = (value: HclValue): string | undefined => {
  if (value.kind === 'string') return value.value
  if (value.kind === 'number') return value.text
  return value.kind === 'bool' ? String(value.value) : undefined
}

type Coerced = { readonly ok: true; readonly value: ConfigValue } | { readonly ok: false; readonly expected: string }

/** Converts a value of a file to a type. Accepts other types as Vault does, such as the string "30" for a number. */
export const coerce = (kind: KeyKind, value: HclValue): Coerced => {
  if (kind === 'list' && value.kind === 'list') {
    const texts = value.values.map(scalarText)
    const isList = texts.every((text) => text !== undefined)
    return isList ? { ok: true, value: trimmed(texts) } : { ok: false, expected: EXPECTED.list }
  }
  const text = scalarText(value)
  return text === undefined ? { ok: false, expected: EXPECTED[kind] } : coerceText(kind, text)
}

/** Converts the text of a flag or an environment variable to a type. Durations become milliseconds. */
export const coerceText = (kind: KeyKind, text: string): Coerced => {
  const value = VALUES[kind](text)
  return value === undefined ? { ok: false, expected: EXPECTED[kind] } : { ok: true, value }
}

const trimmed = (texts: readonly string[]): string[] => texts.map((text) => text.trim()).filter((text) => text !== '')

const VALUES: Readonly<Record<KeyKind, (text: string) => ConfigValue>> = {
  string: (text) => text,
  any: (text) => text,
  bool: (text) => TRUE.has(text) || (FALSE.has(text) ? false : undefined),
  int: (text) => (/^\d+$/.test(text) ? Number(text) : undefined),
  duration: (text) => {
    const ms = parseDurationMs(text)
    return ms === undefined || ms < 0 ? undefined : ms
  },
  list: (text) => trimmed(text.split(',')),
}

const EXPECTED: Readonly<Record<KeyKind, string>> = {
  string: 'a string',
  bool: 'true or false',
  int: 'a whole number',
  duration: 'seconds or a duration such as "30s"',
  list: 'a list of strings',
  any: 'a value',
}
