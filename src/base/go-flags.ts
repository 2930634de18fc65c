/**
 * Flags as Go's `flag` package takes them, and so the reference: one dash or two, `-name=value` or `-name value`. By hand,
 * since parsers for Node (commander, `util.parseArgs`) take a word behind one dash for a bundle of one-letter flags.
 */
export interface FlagForm {
  /** Its main name, where it has several. */
  readonly name: string
  /** It is true when it has no value; the word behind it is none of its own. */
  readonly isSwitch: boolean
}

export type FoundFlag =
  | { readonly kind: 'flag'; readonly name: string; readonly text: string; readonly width: 1 | 2 }
  | { readonly kind: 'valueless'; readonly given: string }
  | { readonly kind: 'unknown'; readonly given: string }

/** A lone dash is an argument, mostly standard input; `--` ends the flags, and is left to the caller. */
export const isFlag = (arg: string): boolean => arg.startsWith('-') && arg !== '-'

/** The flag that `args` begin with, and how many of them it takes. `formOf` knows the flags by all their names. */
export const readFlag = (args: readonly string[], formOf: (given: string) => FlagForm | undefined): FoundFlag => {
  const [arg = '', next] = args
  const [, given = '', value] = /^--?([^=]*)(?:=(.*))?$/s.exec(arg) ?? []
  const form = formOf(given)
  if (form === undefined) return { kind: 'unknown', given }
  const { name, isSwitch } = form
  if (isSwitch || value !== undefined) return { kind: 'flag', name, text: value ?? 'true', width: 1 }
  return next === undefined ? { kind: 'valueless', given } : { kind: 'flag', name, text: next, width: 2 }
}

/** The values that Go takes for a switch; undefined for any other text. */
export const parseSwitch = (text: string): boolean | undefined => {
  if (/^(?:1|t|true)$/i.test(text)) return true
  return /^(?:0|f|false)$/i.test(text) ? false : undefined
}
