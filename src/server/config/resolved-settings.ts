import { formatGoDuration } from '../../base/duration.js'
import type { Environment } from './environment.js'
import type { ConfigValue, Sourced } from './values.js'

/** One setting in effect: its value as text, and the flag, variable, `file:line` or `default` it came from. */
export interface ShownSetting {
  readonly name: string
  readonly value: string
  readonly origin: string
}

/** Places a value may come from, the one that wins first; those that gave none are undefined. */
type Sources = readonly (Sourced | undefined)[]

export const DEFAULT_ORIGIN = 'default'
const HIDDEN = '(hidden)'

/** A variable; an empty one counts as not set. */
export const fromVariable = (env: Environment, name: string): Sourced | undefined => {
  const value = env[name]
  return value ? { value, origin: name } : undefined
}

/** A flag of the command line, which has it when it is defined. */
export const fromFlag = (name: string, value: ConfigValue): Sourced | undefined =>
  value === undefined ? undefined : { value, origin: name }

/** How a value of one type is told from others, and shown. */
interface Form<T extends ConfigValue> {
  readonly isOne: (value: ConfigValue) => value is T
  readonly show: (value: T) => string
}

/**
 * Where every setting is decided, and remembered with the place it came from. A source of another type than is asked for
 * was reported when it was read, and counts as not given.
 */
export class ResolvedSettings {
  readonly rows: ShownSetting[] = []

  text(name: string, sources: Sources, fallback = ''): string {
    return this.#decide(name, sources, fallback, TEXT)
  }

  /** Shown as hidden unless it is empty or only says where the secret lies. */
  secret(name: string, sources: Sources, fallback = ''): string {
    const show = (value: string) => (value === '' || /^(?:env|file):\/\//.test(value) ? value : HIDDEN)
    return this.#decide(name, sources, fallback, { isOne: isText, show })
  }

  number(name: string, sources: Sources, fallback: number): number {
    return this.#decide(name, sources, fallback, NUMBER)
  }

  /** Milliseconds. */
  durationMs(name: string, sources: Sources, fallbackMs: number): number {
    return this.#decide(name, sources, fallbackMs, DURATION)
  }

  flag(name: string, sources: Sources, fallback = false): boolean {
    return this.#decide(name, sources, fallback, FLAG)
  }

  list(name: string, sources: Sources): readonly string[] {
    return this.#decide(name, sources, [], LIST)
  }

  /** A setting that was decided elsewhere. */
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
