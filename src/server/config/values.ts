import { parseDurationMs } from '../../base/duration.js'
import type { HclValue } from '../../base/hcl-tree.js'
import type { KeyKind } from './tables.js'

/** A configured value and its origin: `file:line`, a flag or a variable. */
export interface Sourced {
  readonly value: ConfigValue
  readonly origin: string
}

export type ConfigValue = string | number | boolean | readonly string[] | undefined

/** Returns the text of a setting; empty if it is not text. */
export const textOf = (setting: Sourced | undefined): string =>
  typeof setting?.value === 'string' ? setting.value : ''

/** Returns the setting, unless it is empty text, which counts as absent. */
export const nonEmpty = (setting: Sourced | undefined): Sourced | undefined =>
  setting?.value === '' ? undefined : setting

const TRUE = new Set(['true', '1', 't', 'T', 'TRUE', 'True'])
const FALSE = new Set(['false', '0', 'f', 'F', 'FALSE', 'False', ''])

const scalarText = (value: HclValue): string | undefined => {
  if (value.kind === 'string') return value.value
  if (value.kind === 'number') return value.text
  return value.kind === 'bool' ? String(value.value) : undefined
}

/** Coerces as loosely as Vault. A string result instead of a value names the expected type. */
export const coerce = (
  kind: KeyKind,
  value: HclValue,
): { readonly ok: true; readonly value: ConfigValue } | { readonly ok: false; readonly expected: string } => {
  if (kind === 'list') {
    const items =
      value.kind === 'list' ? value.values.map(scalarText) : [...(scalarText(value)?.split(',') ?? [undefined])]
    const texts = items.map((item) => item?.trim())
    return texts.every((text) => text !== undefined)
      ? { ok: true, value: texts.filter((text) => text !== '') }
      : { ok: false, expected: 'a list of strings' }
  }
  const text = scalarText(value)
  return text === undefined ? { ok: false, expected: EXPECTED[kind] } : coerceText(kind, text)
}

/** Coerces a flag or an environment variable. Durations become milliseconds. */
export const coerceText = (
  kind: KeyKind,
  text: string,
): { readonly ok: true; readonly value: ConfigValue } | { readonly ok: false; readonly expected: string } => {
  const bad = { ok: false as const, expected: EXPECTED[kind] }
  switch (kind) {
    case 'bool':
      return TRUE.has(text) ? { ok: true, value: true } : FALSE.has(text) ? { ok: true, value: false } : bad
    case 'int':
      return /^\d+$/.test(text) ? { ok: true, value: Number(text) } : bad
    case 'duration': {
      const ms = parseDurationMs(text)
      return ms === undefined || ms < 0 ? bad : { ok: true, value: ms }
    }
    case 'list':
      return {
        ok: true,
        value: text
          .split(',')
          .map((item) => item.trim())
          .filter((item) => item !== ''),
      }
    case 'string':
    case 'address':
    case 'any':
      return { ok: true, value: text }
  }
}

const EXPECTED: Readonly<Record<KeyKind, string>> = {
  string: 'a string',
  bool: 'true or false',
  int: 'a whole number',
  duration: 'seconds or a duration such as "30s"',
  list: 'a list of strings',
  address: 'an address of the form host:port',
  any: 'a value',
}
