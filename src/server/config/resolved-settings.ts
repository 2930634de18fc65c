import { formatGoDuration } from '../../base/duration.js'
import type { Environment } from './environment.js'
import type { ConfigValue, Sourced } from './values.js'

/** One setting in effect: its value as text, and its origin: a flag, a variable, `file:line` or `default`. */
export interface ShownSetting {
  readonly name: string
  readonly value: string
  readonly origin: string
}

/** Sources of a value in order of precedence; undefined if a source has none. */
type Sources = readonly (Sourced | undefined)[]

export const DEFAULT_ORIGIN = 'default'
const HIDDEN = '(hidden)'

/** Returns a variable. An empty one counts as unset. */
export const fromVariable = (env: Environment, name: string): Sourced | undefined => {
  const value = env[name]
  return value ? { value, origin: name } : undefined
}

/** Returns a command-line flag, if defined. */
export const fromFlag = (name: string, value: ConfigValue): Sourced | undefined =>
  value === undefined ? undefined : { value, origin: name }

/** How to recognize and display values of one type. */
interface Form<T extends ConfigValue> {
  readonly isOne: (value: ConfigValue) => value is T
  readonly show: (value: T) => string
}

/**
 * Resolves every setting and records its origin. A source of the wrong type was reported when it was read, and counts as
 * absent.
 */
export class ResolvedSettings {
  readonly rows: ShownSetting[] = []

  text(name: string, sources: Sources, fallback = ''): string {
    return this.#decide(name, sources, fallback, TEXT)
  }

  /** Resolves a secret. It is displayed as hidden, unless it is empty or only refers to the secret's location. */
  secret(name: string, sources: Sources, fallback = ''): string {
    const show = (value: string) => (value === '' || /^(?:env|file):\/\//.test(value) ? value : HIDDEN)
    return this.#decide(name, sources, fallback, { isOne: isText, show })
  }

  number(name: string, sources: Sources, fallback: number): number {
    return this.#decide(name, sources, fallback, NUMBER)
  }

  /** Returns milliseconds. */
  durationMs(name: string, sources: Sources, fallbackMs: number): number {
    return this.#decide(name, sources, fallbackMs, DURATION)
  }

  flag(name: string, sources: Sources, fallback = false): boolean {
    return this.#decide(name, sources, fallback, FLAG)
  }

  list(name: string, sources: Sources): readonly string[] {
    return this.#decide(name, sources, [], LIST)
  }

  /** Records a setting that was resolved elsewhere. */
  note(name: string, value: string, origin: string): void {
    this.rows.push({ name, value, origin })
  }

  #decide<T extends ConfigValue>(name: string, sources: Sources, fallback: T, { isOne, show }: Form<T>): T {
    for (const source of sources) {
      if (source === undefined || !isOne(source.value)) continue
      this.note(name, show(source.value), source.origin)
      return source.value
    }
    this.note(name, show(fallback), DEFAULT_ORIGIN)
    return fallback
  }
}

const isText = (value: ConfigValue): value is string => typeof value === 'string'
const isNumber = (value: ConfigValue): value is number => typeof value === 'number'

const showMs = (ms: number): string => formatGoDuration(ms / 1000)

const TEXT: Form<string> = { isOne: isText, show: String }
const NUMBER: Form<number> = { isOne: isNumber, show: String }
const DURATION: Form<number> = { isOne: isNumber, show: showMs }
const FLAG: Form<boolean> = { isOne: (value): value is boolean => typeof value === 'boolean', show: String }
const LIST: Form<readonly string[]> = {
  isOne: (value): value is readonly string[] => Array.isArray(value),
  show: (items) => items.join(','),
}
