/** Lines of a shell with values in them: the one place that quotes. */

export const SHELLS = ['bash', 'fish', 'powershell', 'cmd'] as const
/** `bash` stands for every POSIX shell. */
export type Shell = (typeof SHELLS)[number]

interface Dialect {
  /** Throws for a value that the shell cannot have. */
  readonly quote: (text: string) => string
  readonly set: (name: string, value: string) => string
  readonly unset: (name: string) => string
  readonly comment: string
}

const refuseForCmd = (text: string): string => {
  if (/["%!\r\n]/.test(text))
    throw new Error('cmd takes no value with a quote, "%", "!" or a line break: use another shell')
  return text
}

const DIALECTS: Readonly<Record<Shell, Dialect>> = {
  bash: {
    quote: (text) => `'${text.replaceAll("'", `'"'"'`)}'`,
    set: (name, value) => `export ${name}=${shellWord(value)}`,
    unset: (name) => `unset ${name}`,
    comment: '#',
  },
  fish: {
    quote: (text) => `'${text.replace(/['\\]/g, '\\$&')}'`,
    set: (name, value) => `set -gx ${name} ${shellWord(value, 'fish')}`,
    unset: (name) => `set -e ${name}`,
    comment: '#',
  },
  powershell: {
    // It takes the typographic quotes for quotes as well.
    quote: (text) => `'${text.replace(/['\u2018-\u201b]/g, '$&$&')}'`,
    set: (name, value) => `$env:${name} = ${quoteForShell(value, 'powershell')}`,
    unset: (name) => `Remove-Item Env:${name} -ErrorAction SilentlyContinue`,
    comment: '#',
  },
  cmd: {
    quote: (text) => `"${refuseForCmd(text)}"`,
    set: (name, value) => `set "${name}=${refuseForCmd(value)}"`,
    unset: (name) => `set "${name}="`,
    comment: 'rem',
  },
}

/** No shell does anything with these; `=` means something at the start of a word. */
const PLAIN = /^[\w./@-][\w.:,/@=+-]*$/

/** The text as one word, in quotes in any case. */
export const quoteForShell = (text: string, shell: Shell = 'bash'): string => DIALECTS[shell].quote(text)

/** The text as one word, in quotes where the shell needs them. */
export const shellWord = (text: string, shell: Shell = 'bash'): string =>
  PLAIN.test(text) ? text : quoteForShell(text, shell)

/** No shell does anything with these between double quotes. */
const PLAIN_IN_QUOTES = /^[\w .:,/@=+-]*$/

/** The text as one word of a POSIX shell, in double quotes unless a shell would change it there. */
export const quotedWord = (text: string): string => (PLAIN_IN_QUOTES.test(text) ? `"${text}"` : quoteForShell(text))

/** The line that gives an environment variable this value, or, for `undefined`, removes it. */
export const setVariable = (name: string, value: string | undefined, shell: Shell): string =>
  value === undefined ? DIALECTS[shell].unset(name) : DIALECTS[shell].set(name, value)

/** One line that the shell skips, whatever the text has in it. */
export const shellComment = (text: string, shell: Shell): string =>
  `${DIALECTS[shell].comment} ${text.replace(shell === 'cmd' ? /[^\w .,:'/-]/g : /\p{Cc}|\p{Zl}|\p{Zp}/gu, ' ')}`
