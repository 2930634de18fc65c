/**
 * A flag of a command. This file parses flags like Go's package `flag`, which Vault uses: one or two dashes,
 * `-name=value` or `-name value`. Implemented here because parsers for Node (commander, `util.parseArgs`) read a word
 * after one dash as several one-letter flags.
 */
export interface FlagForm {
  /** The main name of a flag with several names. */
  readonly name: string
  /** True if the flag is a switch. A switch without a value is true, and does not use the next argument. */
  readonly isSwitch: boolean
}

export type FoundFlag =
  | { readonly kind: 'flag'; readonly name: string; readonly text: string; readonly width: 1 | 2 }
  | { readonly kind: 'valueless'; readonly given: string }
  | { readonly kind: 'unknown'; readonly given: string }

/**
 * Returns true if an argument is a flag. A single dash is not a flag: it usually means standard input. `--`, which ends
 * the flags, counts as a flag, and the caller handles it.
 */
export const isFlag = (arg: string): boolean => arg.startsWith('-') && arg !== '-'

/**
 * Reads the flag at the start of `args`. `width` is the number of arguments that the flag uses. `formOf` finds a flag
 * by any of its names.
 */
export const readFlag = (args: readonly string[], formOf: (given: string) => FlagForm | undefined): FoundFlag => {
  const [arg = '', next] = args
  const [, given = '', value] = /^--?([^=]*)(?:=(.*))?$/s.exec(arg) ?? []
  const form = formOf(given)
  if (form === undefined) return { kind: 'unknown', given }
  const { name, isSwitch } = form
  if (isSwitch || value !== undefined) return { kind: 'flag', name, text: value ?? 'true', width: 1 }
  return next === undefined ? { kind: 'valueless', given } : { kind: 'flag', name, text: next, width: 2 }
}

/** Parses the values that Go accepts for a switch. Returns undefined for any other text. */
export const parseSwitch = (text: string): boolean | undefined => {
  if (/^(?:1|t|true)$/i.test(text)) return true
  return /^(?:0|f|false)$/i.test(text) ? false : undefined
}
