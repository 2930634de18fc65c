import { formatGoDuration } from '../../base/duration.js'
import type { FileSettings, Findings, Stanza } from './file.js'
import type { ServerFlags } from './flags.js'
import type { NetworkAddress } from '../../base/network-addresses.js'
import type { ConfigValue, Environment, KindValue, SettingKind, Sourced } from './values.js'

/** The sources of all settings, and the collectors of resolved settings and of problems. */
export interface ConfigSources {
  readonly flags: ServerFlags
  readonly env: Environment
  readonly files: FileSettings
  readonly settled: ResolvedSettings
  readonly findings: Findings
  readonly addresses: () => readonly NetworkAddress[]
  /**
   * Expands the template of an address setting. If the result is not a single address, reports a problem and returns
   * undefined.
   */
  readonly expand: (name: string, setting: Sourced | undefined) => Sourced | undefined
}

/** A setting in effect, with its value as text. Its origin is a flag, a variable, `file:line` or `default`. */
export interface ShownSetting {
  readonly name: string
  readonly value: string
  readonly origin: string
}

type Sources = readonly (Sourced | undefined)[]

export const DEFAULT_ORIGIN = 'default'
const HIDDEN = '(hidden)'

/** Returns an environment variable as a source, or undefined if it is unset or empty. */
export const fromVariable = (env: Environment, name: string): Sourced | undefined => {
  const value = env[name]
  return value ? { value, origin: name } : undefined
}

export const fromFlag = (name: string, value: ConfigValue): Sourced | undefined =>
  value === undefined ? undefined : { value, origin: name }

/**
 * Resolves the settings of one stanza, and records each with its origin. By default, the source of a setting is its key
 * in the stanza. A source of the wrong type is ignored, because it was reported when it was read.
 */
export class ResolvedSettings {
  readonly rows: ShownSetting[]
  readonly values: Stanza['values']
  readonly #findings: Findings
  readonly #origin: string
  /** Prefix of the names of the recorded settings, for example `storage.`. */
  readonly #prefix: string

  constructor(
    findings: Findings,
    { values, origin }: Pick<Stanza, 'values' | 'origin'>,
    { prefix = '', rows = [] }: { readonly prefix?: string; readonly rows?: ShownSetting[] } = {},
  ) {
    this.#findings = findings
    this.values = values
    this.#origin = origin
    this.#prefix = prefix
    this.rows = rows
  }

  /** Returns the settings of a stanza, which are recorded as `name.key`. */
  within(name: string, stanza: Pick<Stanza, 'values' | 'origin'>): ResolvedSettings {
    return new ResolvedSettings(this.#findings, stanza, { prefix: `${name}.`, rows: this.rows })
  }

  text(key: string, fallback = '', sources?: Sources): string {
    return this.resolve('string', key, fallback, sources)
  }

  /** Resolves a secret. Records it as hidden, unless it is empty or a reference (`env://` or `file://`). */
  secret(key: string, sources: Sources = [this.values[key]]): string {
    const show = (value: string) => (value === '' || /^(?:env|file):\/\//.test(value) ? value : HIDDEN)
    return this.#decide(key, sources, '', { ...FORMS.string, show })
  }

  number(key: string, fallback: number): number {
    return this.resolve('int', key, fallback)
  }

  durationMs(key: string, fallbackMs: number): number {
    return this.resolve('duration', key, fallbackMs)
  }

  flag(key: string, fallback = false, sources?: Sources): boolean {
    return this.resolve('bool', key, fallback, sources)
  }

  list(key: string, sources?: Sources): readonly string[] {
    return this.resolve('list', key, [], sources)
  }

  resolve<K extends SettingKind>(
    kind: K,
    key: string,
    fallback: KindValue[K],
    sources: Sources = [this.values[key]],
  ): KindValue[K] {
    return this.#decide(key, sources, fallback, FORMS[kind])
  }

  /** Records a setting with its value and origin. */
  note(key: string, value: string, origin: string): void {
    this.rows.push({ name: this.#prefix + key, value, origin })
  }

  /** Reports a problem at the origin of the value of `key`, or at the origin of the stanza if the key is absent. */
  refuse(key: string, text: string): void {
    this.#findings.problems.push({ origin: this.#originOf(key), text })
  }

  warn(key: string, text: string): void {
    this.#findings.warnings.push({ origin: this.#originOf(key), text })
  }

  #originOf(key: string): string {
    return this.values[key]?.origin ?? this.#origin
  }

  #decide<T extends ConfigValue>(key: string, sources: Sources, fallback: T, { isOne, show }: Form<T>): T {
    for (const source of sources) {
      if (source === undefined || !isOne(source.value)) continue
      this.note(key, show(source.value), source.origin)
      return source.value
    }
    this.note(key, show(fallback), DEFAULT_ORIGIN)
    return fallback
  }
}

interface Form<T extends ConfigValue> {
  readonly isOne: (value: ConfigValue) => value is T
  readonly show: (value: T) => string
}

const isNumber = (value: ConfigValue): value is number => typeof value === 'number'

const FORMS: { readonly [K in SettingKind]: Form<KindValue[K]> } = {
  string: { isOne: (value): value is string => typeof value === 'string', show: String },
  int: { isOne: isNumber, show: String },
  duration: { isOne: isNumber, show: (ms) => formatGoDuration(ms / 1000) },
  bool: { isOne: (value): value is boolean => typeof value === 'boolean', show: String },
  list: {
    isOne: (value): value is readonly string[] => Array.isArray(value),
    show: (items) => items.join(','),
  },
}
